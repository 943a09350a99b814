"""The stream between light members and their coordinator: the only importer of grpc."""
