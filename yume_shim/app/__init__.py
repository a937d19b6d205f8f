"""The top floor: joins the rooms into one program, from parsed argv to exit code."""
