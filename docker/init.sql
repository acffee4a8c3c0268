-- Runs once, when the database is made: an example schema, two roles and the publication that the service reads.
-- psql runs this file; \getenv takes the passwords from the environment of the container.
\set ON_ERROR_STOP on
\getenv backend_password PG_BACKEND_PASSWORD
\getenv replication_password PG_REPLICATION_PASSWORD

CREATE TABLE public.lists (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    created_at timestamptz NOT NULL DEFAULT now(),
    name text NOT NULL,
    owner_id text NOT NULL
);

CREATE TABLE public.todos (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    created_at timestamptz NOT NULL DEFAULT now(),
    completed_at timestamptz,
    description text NOT NULL,
    completed boolean NOT NULL DEFAULT false,
    created_by text,
    completed_by text,
    list_id uuid NOT NULL REFERENCES public.lists (id) ON DELETE CASCADE,
    owner_id text NOT NULL,
    photo_id uuid
);

CREATE INDEX todos_of_list ON public.todos (list_id);
-- Each question for a URL looks for the rows that name an attachment.
CREATE INDEX todos_with_photo ON public.todos (photo_id);

-- The backend: neither owner of a table nor allowed to replicate. It keeps its own tables in the schema psb.
CREATE ROLE powersync_backend LOGIN PASSWORD :'backend_password';
GRANT CREATE ON DATABASE :"DBNAME" TO powersync_backend;
GRANT USAGE ON SCHEMA public TO powersync_backend;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO powersync_backend;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO powersync_backend;

-- The sync service: reads every row and the log.
CREATE ROLE powersync_replication REPLICATION BYPASSRLS LOGIN PASSWORD :'replication_password';
GRANT USAGE ON SCHEMA public TO powersync_replication;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO powersync_replication;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO powersync_replication;

-- Exactly this name. A schema and not all tables: the backend's own tables in psb are not published.
CREATE PUBLICATION powersync FOR TABLES IN SCHEMA public;

INSERT INTO public.lists (id, name, owner_id)
VALUES ('75f89104-d95a-4f16-8309-5363f1bb377a', 'Getting Started', 'u1');

INSERT INTO public.todos (description, list_id, owner_id)
VALUES
    ('Open two clients', '75f89104-d95a-4f16-8309-5363f1bb377a', 'u1'),
    ('Change something offline', '75f89104-d95a-4f16-8309-5363f1bb377a', 'u1');
