"""Commands and skills in files: finds and reads them."""
