-- A database of version 10: the layout of version 9; triggers write to powersync_crud.
-- Layout

CREATE TABLE ps_migration(id INTEGER PRIMARY KEY, down_migrations TEXT);

CREATE TABLE ps_buckets(
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  last_applied_op INTEGER NOT NULL DEFAULT 0,
  last_op INTEGER NOT NULL DEFAULT 0,
  target_op INTEGER NOT NULL DEFAULT 0,
  add_checksum INTEGER NOT NULL DEFAULT 0,
  op_checksum INTEGER NOT NULL DEFAULT 0,
  pending_delete INTEGER NOT NULL DEFAULT 0,
  count_at_last INTEGER NOT NULL DEFAULT 0,
  count_since_last INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX ps_buckets_name ON ps_buckets(name);

CREATE TABLE ps_oplog(
  bucket INTEGER NOT NULL,
  op_id INTEGER NOT NULL,
  row_type TEXT,
  row_id TEXT,
  key TEXT,
  data TEXT,
  hash INTEGER NOT NULL
) STRICT;
CREATE INDEX ps_oplog_row ON ps_oplog(row_type, row_id);
CREATE INDEX ps_oplog_opid ON ps_oplog(bucket, op_id);
CREATE INDEX ps_oplog_key ON ps_oplog(bucket, key);

CREATE TABLE ps_updated_rows(
  row_type TEXT,
  row_id TEXT,
  PRIMARY KEY(row_type, row_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE ps_untyped(type TEXT NOT NULL, id TEXT NOT NULL, data TEXT, PRIMARY KEY(type, id));
CREATE TABLE ps_crud(id INTEGER PRIMARY KEY AUTOINCREMENT, data TEXT, tx_id INTEGER);
CREATE TABLE ps_tx(id INTEGER PRIMARY KEY NOT NULL, current_tx INTEGER, next_tx INTEGER);
CREATE TABLE ps_kv(key TEXT PRIMARY KEY NOT NULL, value BLOB);

CREATE TABLE ps_sync_state(
  priority INTEGER NOT NULL PRIMARY KEY,
  last_synced_at TEXT NOT NULL
) STRICT;

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
INSERT INTO ps_migration(id, down_migrations) VALUES (5, json_array(
  json_object('sql', 'SELECT powersync_drop_view(name) FROM sqlite_master WHERE type = ''view'' AND sql GLOB ''*-- powersync-auto-generated'''),
  json_object('sql', 'ALTER TABLE ps_buckets RENAME TO ps_buckets_5'),
  json_object('sql', 'ALTER TABLE ps_oplog RENAME TO ps_oplog_5'),
  json_object('sql', 'CREATE TABLE ps_buckets(name TEXT PRIMARY KEY, last_applied_op INTEGER NOT NULL DEFAULT 0, last_op INTEGER NOT NULL DEFAULT 0, target_op INTEGER NOT NULL DEFAULT 0, add_checksum INTEGER NOT NULL DEFAULT 0, pending_delete INTEGER NOT NULL DEFAULT 0, op_checksum INTEGER NOT NULL DEFAULT 0, remove_operations INTEGER NOT NULL DEFAULT 0)'),
  json_object('sql', 'INSERT INTO ps_buckets(name, last_applied_op, last_op, target_op, add_checksum, op_checksum, pending_delete) SELECT name, last_applied_op, last_op, target_op, add_checksum, op_checksum, pending_delete FROM ps_buckets_5'),
  json_object('sql', 'CREATE TABLE ps_oplog(bucket TEXT NOT NULL, op_id INTEGER NOT NULL, op INTEGER NOT NULL, row_type TEXT, row_id TEXT, key TEXT, data TEXT, hash INTEGER NOT NULL, superseded INTEGER NOT NULL)'),
  json_object('sql', 'CREATE INDEX ps_oplog_by_row ON ps_oplog(row_type, row_id) WHERE superseded = 0'),
  json_object('sql', 'CREATE INDEX ps_oplog_by_opid ON ps_oplog(bucket, op_id)'),
  json_object('sql', 'CREATE INDEX ps_oplog_by_key ON ps_oplog(bucket, key) WHERE superseded = 0'),
  json_object('sql', 'INSERT INTO ps_oplog(bucket, op_id, op, row_type, row_id, key, data, hash, superseded) SELECT b.name, o.op_id, 3, o.row_type, o.row_id, o.key, o.data, o.hash, 0 FROM ps_oplog_5 o JOIN ps_buckets_5 b ON b.id = o.bucket'),
  json_object('sql', 'DROP TABLE ps_oplog_5'),
  json_object('sql', 'DROP TABLE ps_buckets_5'),
  json_object('sql', 'INSERT INTO ps_oplog(bucket, op_id, op, row_type, row_id, hash, superseded) SELECT ''$local'', 1, 4, row_type, row_id, 0, 0 FROM ps_updated_rows'),
  json_object('sql', 'INSERT INTO ps_buckets(name, pending_delete, last_op, target_op) VALUES (''$local'', 1, 0, 9223372036854775807) ON CONFLICT(name) DO UPDATE SET pending_delete = excluded.pending_delete, last_op = excluded.last_op, target_op = excluded.target_op'),
  json_object('sql', 'DROP TABLE ps_updated_rows'),
  json_object('sql', 'DELETE FROM ps_migration WHERE id >= 5')));
INSERT INTO ps_migration(id, down_migrations) VALUES (6, json_array(
  json_object('sql', 'DELETE FROM ps_migration WHERE id >= 6')));
INSERT INTO ps_migration(id, down_migrations) VALUES (7, json_array(
  json_object('sql', 'INSERT OR REPLACE INTO ps_kv(key, value) SELECT ''last_synced_at'', last_synced_at FROM ps_sync_state WHERE priority = 2147483647'),
  json_object('sql', 'DROP TABLE ps_sync_state'),
  json_object('sql', 'DELETE FROM ps_migration WHERE id >= 7')));
INSERT INTO ps_migration(id, down_migrations) VALUES (8, json_array(
  json_object('sql', 'ALTER TABLE ps_sync_state RENAME TO ps_sync_state_old'),
  json_object('sql', 'CREATE TABLE ps_sync_state(priority INTEGER NOT NULL, last_synced_at TEXT NOT NULL) STRICT'),
  json_object('sql', 'INSERT INTO ps_sync_state(priority, last_synced_at) SELECT priority, last_synced_at FROM ps_sync_state_old'),
  json_object('sql', 'DROP TABLE ps_sync_state_old'),
  json_object('sql', 'DELETE FROM ps_migration WHERE id >= 8')));
INSERT INTO ps_migration(id, down_migrations) VALUES (9, json_array(
  json_object('sql', 'ALTER TABLE ps_buckets DROP COLUMN count_at_last'),
  json_object('sql', 'ALTER TABLE ps_buckets DROP COLUMN count_since_last'),
  json_object('sql', 'DELETE FROM ps_migration WHERE id >= 9')));
INSERT INTO ps_migration(id, down_migrations) VALUES (10, json_array(
  json_object('sql', 'SELECT powersync_drop_view(name) FROM sqlite_master WHERE type = ''view'' AND sql GLOB ''*-- powersync-auto-generated'''),
  json_object('sql', 'DELETE FROM ps_migration WHERE id >= 10')));

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
INSERT INTO powersync_crud(op,id,type) VALUES ('DELETE', OLD.id, 'lists');
END;
CREATE TRIGGER "ps_view_insert_lists" INSTEAD OF INSERT ON "lists" FOR EACH ROW BEGIN
SELECT CASE WHEN (NEW.id IS NULL) THEN RAISE (FAIL, 'id is required') WHEN (typeof(NEW.id) != 'text') THEN RAISE (FAIL, 'id should be text') END;
INSERT INTO "ps_data__lists"(id,data) VALUES (NEW.id, json_object('name', powersync_strip_subtype(NEW."name")));
INSERT INTO powersync_crud(op,id,type,data) VALUES ('PUT', NEW.id, 'lists', json(powersync_diff('{}', json_object('name', powersync_strip_subtype(NEW."name")))));
END;
CREATE TRIGGER "ps_view_update_lists" INSTEAD OF UPDATE ON "lists" FOR EACH ROW BEGIN
SELECT CASE WHEN (OLD.id != NEW.id) THEN RAISE (FAIL, 'Cannot update id') END;
UPDATE "ps_data__lists" SET data = json_object('name', powersync_strip_subtype(NEW."name")) WHERE id = NEW.id;
INSERT INTO powersync_crud(op,id,type,data,options) VALUES ('PATCH', NEW.id, 'lists', json(powersync_diff(json_object('name', powersync_strip_subtype(OLD."name")), json_object('name', powersync_strip_subtype(NEW."name")))), 0);
END;

CREATE VIEW "todos"("id", "description", "list_id", "done") AS SELECT id, CAST(json_extract(data, '$.description') as text), CAST(json_extract(data, '$.list_id') as text), CAST(json_extract(data, '$.done') as integer) FROM "ps_data__todos" -- powersync-auto-generated
;
CREATE TRIGGER "ps_view_delete_todos" INSTEAD OF DELETE ON "todos" FOR EACH ROW BEGIN
DELETE FROM "ps_data__todos" WHERE id = OLD.id;
INSERT INTO powersync_crud(op,id,type) VALUES ('DELETE', OLD.id, 'todos');
END;
CREATE TRIGGER "ps_view_insert_todos" INSTEAD OF INSERT ON "todos" FOR EACH ROW BEGIN
SELECT CASE WHEN (NEW.id IS NULL) THEN RAISE (FAIL, 'id is required') WHEN (typeof(NEW.id) != 'text') THEN RAISE (FAIL, 'id should be text') END;
INSERT INTO "ps_data__todos"(id,data) VALUES (NEW.id, json_object('description', powersync_strip_subtype(NEW."description"), 'list_id', powersync_strip_subtype(NEW."list_id"), 'done', powersync_strip_subtype(NEW."done")));
INSERT INTO powersync_crud(op,id,type,data) VALUES ('PUT', NEW.id, 'todos', json(powersync_diff('{}', json_object('description', powersync_strip_subtype(NEW."description"), 'list_id', powersync_strip_subtype(NEW."list_id"), 'done', powersync_strip_subtype(NEW."done")))));
END;
CREATE TRIGGER "ps_view_update_todos" INSTEAD OF UPDATE ON "todos" FOR EACH ROW BEGIN
SELECT CASE WHEN (OLD.id != NEW.id) THEN RAISE (FAIL, 'Cannot update id') END;
UPDATE "ps_data__todos" SET data = json_object('description', powersync_strip_subtype(NEW."description"), 'list_id', powersync_strip_subtype(NEW."list_id"), 'done', powersync_strip_subtype(NEW."done")) WHERE id = NEW.id;
INSERT INTO powersync_crud(op,id,type,data,options) VALUES ('PATCH', NEW.id, 'todos', json(powersync_diff(json_object('description', powersync_strip_subtype(OLD."description"), 'list_id', powersync_strip_subtype(OLD."list_id"), 'done', powersync_strip_subtype(OLD."done")), json_object('description', powersync_strip_subtype(NEW."description"), 'list_id', powersync_strip_subtype(NEW."list_id"), 'done', powersync_strip_subtype(NEW."done")))), 0);
END;

CREATE VIEW "drafts"("id", "text") AS SELECT id, CAST(json_extract(data, '$.text') as text) FROM "ps_data_local__drafts" -- powersync-auto-generated
;
CREATE TRIGGER "ps_view_delete_drafts" INSTEAD OF DELETE ON "drafts" FOR EACH ROW BEGIN
DELETE FROM "ps_data_local__drafts" WHERE id = OLD.id;
END;
CREATE TRIGGER "ps_view_insert_drafts" INSTEAD OF INSERT ON "drafts" FOR EACH ROW BEGIN
INSERT INTO "ps_data_local__drafts"(id,data) VALUES (NEW.id, json_object('text', powersync_strip_subtype(NEW."text")));
END;
CREATE TRIGGER "ps_view_update_drafts" INSTEAD OF UPDATE ON "drafts" FOR EACH ROW BEGIN
SELECT CASE WHEN (OLD.id != NEW.id) THEN RAISE (FAIL, 'Cannot update id') END;
UPDATE "ps_data_local__drafts" SET data = json_object('text', powersync_strip_subtype(NEW."text")) WHERE id = NEW.id;
END;

-- Two buckets; of the second, operation 7 has been downloaded and not been published yet.
INSERT INTO ps_buckets(id, name, last_applied_op, last_op, add_checksum, op_checksum, count_at_last, count_since_last) VALUES
  (1, 'lists["u1"]', 2, 2, 0, 3573495787, 2, 0),
  (3, 'todos["u1"]', 6, 7, 27, 46, 4, 1);
INSERT INTO ps_oplog(bucket, op_id, row_type, row_id, key, data, hash) VALUES
  (1, 1, 'lists', 'l1', 'lists/l1/k1', '{"id":"l1","name":"Groceries"}', 100),
  (1, 2, 'lists', 'l2', 'lists/l2/k1', '{"id":"l2","name":"Travel"}', -721471609),
  (3, 5, 'todos', 't1', 'todos/t1/k1', '{"id":"t1","description":"Bread","list_id":"l1","done":1}', 30),
  (3, 6, 'todos', 't2', 'todos/t2/k1', '{"id":"t2","description":"Butter","list_id":"l1","done":0}', 5),
  (3, 7, 'todos', 't4', 'todos/t4/k1', '{"id":"t4","description":"Tickets","list_id":"l2","done":0}', 11);

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
  (4, '{"op":"PUT","id":"t3","type":"todos","data":{"description":"Milk","list_id":"l1"}}', 3),
  (5, '{"op":"PUT","id":"t5","type":"todos","data":{"description":"Salt","list_id":"l1"}}', 3),
  (8, '{"op":"PATCH","id":"t3","type":"todos","data":{"description":"Milk, 2 l"}}', 6);
UPDATE ps_tx SET next_tx = 8;

-- The gate: closed until the queue is uploaded.
INSERT INTO ps_updated_rows(row_type, row_id) VALUES
  ('todos', 't3'),
  ('todos', 't5');
INSERT INTO ps_buckets(id, name, pending_delete, last_op, target_op) VALUES
  (2, '$local', 0, 0, 9223372036854775807);

-- UTC.
INSERT INTO ps_sync_state(priority, last_synced_at) VALUES
  (1, '2025-03-01 10:30:00'),
  (2147483647, '2025-03-01 10:00:00');

-- Of somebody else; stays.
INSERT INTO ps_kv(key, value) VALUES
  ('some_other_key', 'some other value');
