"""The experiment loop: Lightning module and data, optimizer, checkpoints, run folder, devices."""
