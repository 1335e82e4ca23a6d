"""What the program can do: a module a task, each with ``run(engine, config, datasets)``. registry.py lists them."""
