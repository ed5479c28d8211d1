"""doctor(): what is installed, which metrics can run here, and what to type for the rest."""
