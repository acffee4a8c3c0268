-- The tables of the contract (backend 9.1), as the tests of this repository make them.
CREATE TABLE lists (id uuid PRIMARY KEY, name text NOT NULL, owner_id text NOT NULL, created_at timestamptz DEFAULT now());
CREATE TABLE todos (id uuid PRIMARY KEY, list_id uuid NOT NULL REFERENCES lists (id), description text NOT NULL,
    completed boolean NOT NULL DEFAULT false, due timestamptz, position int, version int DEFAULT 1, deleted_at timestamptz);
CREATE TYPE mood AS ENUM ('glad', 'sad');
CREATE TABLE typed (id uuid PRIMARY KEY, flag boolean, small smallint, whole integer, big bigint, amount numeric,
    price numeric(10, 2), ratio double precision, label text, short varchar(5), doc jsonb, tags text[], data bytea,
    instant timestamptz, local timestamp, day date, span interval, ref uuid, mood mood, place inet,
    amounts numeric[], locals timestamp[], instants timestamptz[],
    doubled integer GENERATED ALWAYS AS (whole * 2) STORED);
CREATE TABLE inventory (id uuid PRIMARY KEY, qty int CONSTRAINT inventory_qty_not_negative CHECK (qty >= 0), sku text UNIQUE);
CREATE TABLE docs (doc_key text PRIMARY KEY, body jsonb, tags text[]);
CREATE TABLE events (id uuid PRIMARY KEY, kind text NOT NULL, amount int);
-- A row of each user, whose id is the user.
CREATE TABLE profiles (id text PRIMARY KEY, bio text);
-- Names that must be quoted.
CREATE TABLE "Order" (id uuid PRIMARY KEY, "select" text, "Upper Case" text);
-- A trigger that rewrites, and one that raises.
CREATE TABLE rewritten (id uuid PRIMARY KEY, name text);
CREATE FUNCTION to_capitals() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN
        IF NEW.name = 'forbidden' THEN RAISE EXCEPTION 'this name is not for you'; END IF;
        NEW.name := upper(NEW.name);
        RETURN NEW;
    END $$;
CREATE TRIGGER capitals BEFORE INSERT OR UPDATE ON rewritten FOR EACH ROW EXECUTE FUNCTION to_capitals();
-- A row that counts how often it was written.
CREATE TABLE counted (id uuid PRIMARY KEY, amount int, writes int);
CREATE FUNCTION count_the_write() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN
        NEW.writes := CASE WHEN TG_OP = 'INSERT' THEN 1 ELSE OLD.writes + 1 END;
        RETURN NEW;
    END $$;
CREATE TRIGGER counts BEFORE INSERT OR UPDATE ON counted FOR EACH ROW EXECUTE FUNCTION count_the_write();
-- A foreign key that is looked at when the transaction commits.
CREATE TABLE links (id uuid PRIMARY KEY, list_id uuid REFERENCES lists (id) DEFERRABLE INITIALLY DEFERRED);
-- What a naive time means must not be the database's business.
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET TimeZone = %L', current_database(), 'America/New_York'); END $$;
