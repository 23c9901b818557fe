"""Report -> text: one module a format. Pure: every renderer returns a str."""
