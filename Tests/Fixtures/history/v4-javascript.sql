-- A database of version 4, as an early JavaScript SDK left it: subkeys in quotes.
-- Layout

CREATE TABLE ps_migration(id INTEGER PRIMARY KEY, down_migrations TEXT);

CREATE TABLE ps_oplog(
  bucket TEXT NOT NULL,
  op_id INTEGER NOT NULL,
  op INTEGER NOT NULL,
  row_type TEXT,
  row_id TEXT,
  key TEXT,
  data TEXT,
  hash INTEGER NOT NULL,
  superseded INTEGER NOT NULL
);
CREATE INDEX ps_oplog_by_row ON ps_oplog(row_type, row_id) WHERE superseded = 0;
CREATE INDEX ps_oplog_by_opid ON ps_oplog(bucket, op_id);
CREATE INDEX ps_oplog_by_key ON ps_oplog(bucket, key) WHERE superseded = 0;

CREATE TABLE ps_buckets(
  name TEXT PRIMARY KEY,
  last_applied_op INTEGER NOT NULL DEFAULT 0,
  last_op INTEGER NOT NULL DEFAULT 0,
  target_op INTEGER NOT NULL DEFAULT 0,
  add_checksum INTEGER NOT NULL DEFAULT 0,
  pending_delete INTEGER NOT NULL DEFAULT 0,
  op_checksum INTEGER NOT NULL DEFAULT 0,
  remove_operations INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE ps_untyped(type TEXT NOT NULL, id TEXT NOT NULL, data TEXT, PRIMARY KEY(type, id));
CREATE TABLE ps_crud(id INTEGER PRIMARY KEY AUTOINCREMENT, data TEXT, tx_id INTEGER);
CREATE TABLE ps_tx(id INTEGER PRIMARY KEY NOT NULL, current_tx INTEGER, next_tx INTEGER);
CREATE TABLE ps_kv(key TEXT PRIMARY KEY NOT NULL, value BLOB);

-- What each step stored to undo itself.
INSERT INTO ps_migration(id, down_migrations) VALUES (1, NULL);
INSERT INTO ps_migration(id, down_migrations) VALUES (2, json_array(
  json_object('sql', 'DELETE FROM ps_migration WHERE id >= 2'),
  json_object('sql', 'DROP TABLE ps_tx'),
  json_object('sql', 'ALTER TABLE ps_crud DROP COLUMN tx_id')));
INSERT INTO ps_migration(id, down_migrations) VALUES (3, json_array(
  json_object('sql', 'DELETE FROM ps_migration WHERE id >= 3'),
  json_object('sql', 'DROP TABLE ps_kv')));
INSERT INTO ps_migration(id, down_migrations) VALUES (4, json_array(
  json_object('sql', 'DELETE FROM ps_migration WHERE id >= 4'),
  json_object('sql', 'ALTER TABLE ps_buckets DROP COLUMN op_checksum'),
  json_object('sql', 'ALTER TABLE ps_buckets DROP COLUMN remove_operations')));

INSERT INTO ps_tx(id, current_tx, next_tx) VALUES (1, NULL, 1);
INSERT INTO ps_kv(key, value) VALUES ('client_id', '6f0c1d2e-3a4b-4c5d-8e6f-708192a3b4c5');

-- Data

CREATE TABLE "ps_data__lists"(id TEXT PRIMARY KEY NOT NULL, data TEXT);
CREATE TABLE "ps_data__todos"(id TEXT PRIMARY KEY NOT NULL, data TEXT);
CREATE TABLE "ps_data_local__drafts"(id TEXT PRIMARY KEY NOT NULL, data TEXT);
CREATE INDEX "ps_data__todos__by_list" ON "ps_data__todos"(CAST(json_extract(data, '$.list_id') as text));

CREATE VIEW "lists"("id", "name") AS SELECT id, CAST(json_extract(data, '$.name') as text) FROM "ps_data__lists" -- powersync-auto-generated
;
CREATE TRIGGER "ps_view_delete_lists" INSTEAD OF DELETE ON "lists" FOR EACH ROW BEGIN
DELETE FROM "ps_data__lists" WHERE id = OLD.id;
INSERT INTO powersync_crud_(data) VALUES (json_object('op', 'DELETE', 'type', 'lists', 'id', OLD.id));
INSERT INTO ps_oplog(bucket, op_id, op, row_type, row_id, hash, superseded) SELECT '$local', 1, 4, 'lists', OLD.id, 0, 0;
INSERT OR REPLACE INTO ps_buckets(name, pending_delete, last_op, target_op) SELECT '$local', 1, 0, 9223372036854775807;
END;
CREATE TRIGGER "ps_view_insert_lists" INSTEAD OF INSERT ON "lists" FOR EACH ROW BEGIN
SELECT CASE WHEN (NEW.id IS NULL) THEN RAISE (FAIL, 'id is required') WHEN (typeof(NEW.id) != 'text') THEN RAISE (FAIL, 'id should be text') END;
INSERT INTO "ps_data__lists" SELECT NEW.id, json_object('name', powersync_strip_subtype(NEW."name"));
INSERT INTO powersync_crud_(data) VALUES (json_object('op', 'PUT', 'type', 'lists', 'id', NEW.id, 'data', json(powersync_diff('{}', json_object('name', powersync_strip_subtype(NEW."name"))))));
INSERT INTO ps_oplog(bucket, op_id, op, row_type, row_id, hash, superseded) SELECT '$local', 1, 4, 'lists', NEW.id, 0, 0;
INSERT OR REPLACE INTO ps_buckets(name, pending_delete, last_op, target_op) SELECT '$local', 1, 0, 9223372036854775807;
END;
CREATE TRIGGER "ps_view_update_lists" INSTEAD OF UPDATE ON "lists" FOR EACH ROW BEGIN
SELECT CASE WHEN (OLD.id != NEW.id) THEN RAISE (FAIL, 'Cannot update id') END;
UPDATE "ps_data__lists" SET data = json_object('name', powersync_strip_subtype(NEW."name")) WHERE id = NEW.id;
INSERT INTO powersync_crud_(data) VALUES (json_object('op', 'PATCH', 'type', 'lists', 'id', NEW.id, 'data', json(powersync_diff(json_object('name', powersync_strip_subtype(OLD."name")), json_object('name', powersync_strip_subtype(NEW."name"))))));
INSERT INTO ps_oplog(bucket, op_id, op, row_type, row_id, hash, superseded) SELECT '$local', 1, 4, 'lists', NEW.id, 0, 0;
INSERT OR REPLACE INTO ps_buckets(name, pending_delete, last_op, target_op) SELECT '$local', 1, 0, 9223372036854775807;
END;

CREATE VIEW "todos"("id", "description", "list_id", "done") AS SELECT id, CAST(json_extract(data, '$.description') as text), CAST(json_extract(data, '$.list_id') as text), CAST(json_extract(data, '$.done') as integer) FROM "ps_data__todos" -- powersync-auto-generated
;
CREATE TRIGGER "ps_view_delete_todos" INSTEAD OF DELETE ON "todos" FOR EACH ROW BEGIN
DELETE FROM "ps_data__todos" WHERE id = OLD.id;
INSERT INTO powersync_crud_(data) VALUES (json_object('op', 'DELETE', 'type', 'todos', 'id', OLD.id));
INSERT INTO ps_oplog(bucket, op_id, op, row_type, row_id, hash, superseded) SELECT '$local', 1, 4, 'todos', OLD.id, 0, 0;
INSERT OR REPLACE INTO ps_buckets(name, pending_delete, last_op, target_op) SELECT '$local', 1, 0, 9223372036854775807;
END;
CREATE TRIGGER "ps_view_insert_todos" INSTEAD OF INSERT ON "todos" FOR EACH ROW BEGIN
SELECT CASE WHEN (NEW.id IS NULL) THEN RAISE (FAIL, 'id is required') WHEN (typeof(NEW.id) != 'text') THEN RAISE (FAIL, 'id should be text') END;
INSERT INTO "ps_data__todos" SELECT NEW.id, json_object('description', powersync_strip_subtype(NEW."description"), 'list_id', powersync_strip_subtype(NEW."list_id"), 'done', powersync_strip_subtype(NEW."done"));
INSERT INTO powersync_crud_(data) VALUES (json_object('op', 'PUT', 'type', 'todos', 'id', NEW.id, 'data', json(powersync_diff('{}', json_object('description', powersync_strip_subtype(NEW."description"), 'list_id', powersync_strip_subtype(NEW."list_id"), 'done', powersync_strip_subtype(NEW."done"))))));
INSERT INTO ps_oplog(bucket, op_id, op, row_type, row_id, hash, superseded) SELECT '$local', 1, 4, 'todos', NEW.id, 0, 0;
INSERT OR REPLACE INTO ps_buckets(name, pending_delete, last_op, target_op) SELECT '$local', 1, 0, 9223372036854775807;
END;
CREATE TRIGGER "ps_view_update_todos" INSTEAD OF UPDATE ON "todos" FOR EACH ROW BEGIN
SELECT CASE WHEN (OLD.id != NEW.id) THEN RAISE (FAIL, 'Cannot update id') END;
UPDATE "ps_data__todos" SET data = json_object('description', powersync_strip_subtype(NEW."description"), 'list_id', powersync_strip_subtype(NEW."list_id"), 'done', powersync_strip_subtype(NEW."done")) WHERE id = NEW.id;
INSERT INTO powersync_crud_(data) VALUES (json_object('op', 'PATCH', 'type', 'todos', 'id', NEW.id, 'data', json(powersync_diff(json_object('description', powersync_strip_subtype(OLD."description"), 'list_id', powersync_strip_subtype(OLD."list_id"), 'done', powersync_strip_subtype(OLD."done")), json_object('description', powersync_strip_subtype(NEW."description"), 'list_id', powersync_strip_subtype(NEW."list_id"), 'done', powersync_strip_subtype(NEW."done"))))));
INSERT INTO ps_oplog(bucket, op_id, op, row_type, row_id, hash, superseded) SELECT '$local', 1, 4, 'todos', NEW.id, 0, 0;
INSERT OR REPLACE INTO ps_buckets(name, pending_delete, last_op, target_op) SELECT '$local', 1, 0, 9223372036854775807;
END;

CREATE VIEW "drafts"("id", "text") AS SELECT id, CAST(json_extract(data, '$.text') as text) FROM "ps_data_local__drafts" -- powersync-auto-generated
;
CREATE TRIGGER "ps_view_delete_drafts" INSTEAD OF DELETE ON "drafts" FOR EACH ROW BEGIN
DELETE FROM "ps_data_local__drafts" WHERE id = OLD.id;
END;
CREATE TRIGGER "ps_view_insert_drafts" INSTEAD OF INSERT ON "drafts" FOR EACH ROW BEGIN
INSERT INTO "ps_data_local__drafts" SELECT NEW.id, json_object('text', powersync_strip_subtype(NEW."text"));
END;
CREATE TRIGGER "ps_view_update_drafts" INSTEAD OF UPDATE ON "drafts" FOR EACH ROW BEGIN
SELECT CASE WHEN (OLD.id != NEW.id) THEN RAISE (FAIL, 'Cannot update id') END;
UPDATE "ps_data_local__drafts" SET data = json_object('text', powersync_strip_subtype(NEW."text")) WHERE id = NEW.id;
END;

-- Two buckets; of the second, operation 7 has been downloaded and not been published yet.
INSERT INTO ps_buckets(name, last_applied_op, last_op, op_checksum) VALUES
  ('lists["u1"]', 2, 2, 3573495787),
  ('todos["u1"]', 6, 7, 73);
INSERT INTO ps_oplog(bucket, op_id, op, row_type, row_id, key, data, hash, superseded) VALUES
  ('lists["u1"]', 1, 3, 'lists', 'l1', 'lists/l1/"k1"', '{"id":"l1","name":"Groceries"}', 100, 0),
  ('lists["u1"]', 2, 3, 'lists', 'l2', 'lists/l2/"k1"', '{"id":"l2","name":"Travel"}', -721471609, 0),
  ('todos["u1"]', 3, 3, 'todos', 't1', 'todos/t1/"k1"', '{"id":"t1","description":"Bred","list_id":"l1","done":0}', 20, 1),
  ('todos["u1"]', 4, 4, 'todos', 't9', 'todos/t9/"k1"', NULL, 7, 0),
  ('todos["u1"]', 5, 3, 'todos', 't1', 'todos/t1/"k1"', '{"id":"t1","description":"Bread","list_id":"l1","done":1}', 30, 0),
  ('todos["u1"]', 6, 3, 'todos', 't2', 'todos/t2/"k1"', '{"id":"t2","description":"Butter","list_id":"l1","done":0}', 5, 0),
  ('todos["u1"]', 7, 3, 'todos', 't4', 'todos/t4/"k1"', '{"id":"t4","description":"Tickets","list_id":"l2","done":0}', 11, 0);
INSERT INTO ps_buckets(name, pending_delete, last_op, target_op) VALUES
  ('$local', 1, 0, 9223372036854775807);
INSERT INTO ps_oplog(bucket, op_id, op, row_type, row_id, hash, superseded) VALUES
  ('$local', 1, 4, 'todos', 't3', 0, 0),
  ('$local', 1, 4, 'todos', 't5', 0, 0);

-- What the app sees: all that is published, and two rows of its own.
INSERT INTO "ps_data__lists"(id, data) VALUES
  ('l1', '{"id":"l1","name":"Groceries"}'),
  ('l2', '{"id":"l2","name":"Travel"}');
INSERT INTO "ps_data__todos"(id, data) VALUES
  ('t1', '{"id":"t1","description":"Bread","list_id":"l1","done":1}'),
  ('t2', '{"id":"t2","description":"Butter","list_id":"l1","done":0}'),
  ('t3', '{"description":"Milk, 2 l","list_id":"l1","done":null}'),
  ('t5', '{"description":"Salt","list_id":"l1","done":null}');
INSERT INTO "ps_data_local__drafts"(id, data) VALUES
  ('d1', '{"text":"Not to be sent"}');
-- Of a table that the schema does not have.
INSERT INTO ps_untyped(type, id, data) VALUES
  ('projects', 'p1', '{"id":"p1","name":"House"}');

-- Two transactions wait for the upload; the numbers between them belong to others, uploaded or empty.
INSERT INTO ps_crud(id, data, tx_id) VALUES
  (4, '{"op":"PUT","type":"todos","id":"t3","data":{"description":"Milk","list_id":"l1"}}', 3),
  (5, '{"op":"PUT","type":"todos","id":"t5","data":{"description":"Salt","list_id":"l1"}}', 3),
  (8, '{"op":"PATCH","type":"todos","id":"t3","data":{"description":"Milk, 2 l"}}', 6);
UPDATE ps_tx SET next_tx = 8;

-- UTC.
INSERT INTO ps_kv(key, value) VALUES
  ('last_synced_at', '2025-03-01 10:00:00');

-- Of somebody else; stays.
INSERT INTO ps_kv(key, value) VALUES
  ('some_other_key', 'some other value');
