"""What the loader will take, told from files before anything is loaded."""
