"""Studies of the method: calibration, agreement of models with measurements, room for gains."""
