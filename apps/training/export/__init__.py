"""Learning data as a file: Parquet with a data card, made as it is sent."""
