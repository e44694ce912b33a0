"""The layers whose gradients can be clipped record by record, one file per kind."""
