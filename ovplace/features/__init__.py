"""Node feature plug-ins: one file for each description of operations."""
