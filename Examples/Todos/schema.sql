-- The tables of the example, which make up takes; the program of README.md writes lists. A todo may have a picture.
CREATE TABLE lists (
    id uuid PRIMARY KEY,
    owner_id text NOT NULL,
    name text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE todos (
    id uuid PRIMARY KEY,
    list_id uuid NOT NULL REFERENCES lists (id) ON DELETE CASCADE,
    owner_id text NOT NULL,
    description text NOT NULL,
    quantity integer NOT NULL DEFAULT 1 CHECK (quantity > 0),
    completed boolean NOT NULL DEFAULT false,
    photo_id uuid
);

CREATE INDEX todos_list ON todos (list_id);
CREATE INDEX todos_photo ON todos (photo_id);

INSERT INTO lists (id, owner_id, name) VALUES ('a0000000-0000-4000-8000-000000000001', 'alice', 'Groceries');
INSERT INTO todos (id, list_id, owner_id, description) VALUES
    ('a0000000-0000-4000-8000-000000000002', 'a0000000-0000-4000-8000-000000000001', 'alice', 'Milk'),
    ('a0000000-0000-4000-8000-000000000003', 'a0000000-0000-4000-8000-000000000001', 'alice', 'Bread');
