"""Node feature plug-ins: one file, one description of operations."""
