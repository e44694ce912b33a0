BEGIN;
CREATE TABLE account (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name BYTEA NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  measure TEXT NOT NULL,
  alpha DOUBLE PRECISION,
  speaks_of TEXT NOT NULL,
  most BIGINT NOT NULL,
  spent BIGINT NOT NULL DEFAULT 0,
  most_delta BIGINT NOT NULL,
  spent_delta BIGINT NOT NULL DEFAULT 0,
  opened TEXT NOT NULL,
  closed TEXT,
  CHECK (spent BETWEEN 0 AND most),
  CHECK (spent_delta BETWEEN 0 AND most_delta)
);
CREATE TABLE charge (
  account BIGINT NOT NULL REFERENCES account,
  key TEXT NOT NULL,
  request BYTEA NOT NULL,
  amount BIGINT NOT NULL CHECK (amount >= 0),
  delta BIGINT NOT NULL CHECK (delta >= 0),
  state TEXT NOT NULL CHECK (state IN ('held', 'spent')),
  guarantee TEXT NOT NULL,
  outcome TEXT,
  at TEXT NOT NULL,
  PRIMARY KEY (account, key)
);
CREATE TABLE meta (schema BIGINT NOT NULL, key_check BYTEA NOT NULL);
CREATE FUNCTION keep_account() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF TG_OP <> 'UPDATE' THEN RAISE EXCEPTION 'what is in a budget stays as it is'; END IF; IF NOT (NEW.id IS NOT DISTINCT FROM OLD.id AND NEW.name IS NOT DISTINCT FROM OLD.name AND NEW.kind IS NOT DISTINCT FROM OLD.kind AND NEW.measure IS NOT DISTINCT FROM OLD.measure AND NEW.alpha IS NOT DISTINCT FROM OLD.alpha AND NEW.most IS NOT DISTINCT FROM OLD.most AND NEW.most_delta IS NOT DISTINCT FROM OLD.most_delta AND NEW.opened IS NOT DISTINCT FROM OLD.opened AND (OLD.speaks_of = '' OR NEW.speaks_of = OLD.speaks_of) AND (OLD.closed IS NULL OR (NEW.closed = OLD.closed AND NEW.spent <= OLD.spent)) AND (NEW.spent >= OLD.spent OR NEW.spent >= (SELECT COALESCE(SUM(amount), 0) FROM charge WHERE account = OLD.id)) AND (NEW.spent_delta >= OLD.spent_delta OR NEW.spent_delta >= (SELECT COALESCE(SUM(delta), 0) FROM charge WHERE account = OLD.id))) THEN RAISE EXCEPTION 'what is in a budget stays as it is'; END IF; RETURN NEW; END $$;
CREATE TRIGGER account_changed BEFORE UPDATE OR DELETE ON account FOR EACH ROW EXECUTE FUNCTION keep_account();
CREATE TRIGGER account_emptied BEFORE TRUNCATE ON account EXECUTE FUNCTION keep_account();
CREATE FUNCTION keep_charge() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF TG_OP <> 'UPDATE' THEN RAISE EXCEPTION 'what is in a budget stays as it is'; END IF; IF NOT (NEW.account IS NOT DISTINCT FROM OLD.account AND NEW.key IS NOT DISTINCT FROM OLD.key AND NEW.request IS NOT DISTINCT FROM OLD.request AND NEW.guarantee IS NOT DISTINCT FROM OLD.guarantee AND NEW.at IS NOT DISTINCT FROM OLD.at AND ((OLD.state = 'held' AND NEW.state = 'spent' AND NEW.amount <= OLD.amount AND NEW.delta <= OLD.delta) OR (NEW.state = OLD.state AND NEW.amount = OLD.amount AND NEW.delta = OLD.delta AND NEW.outcome IS NULL))) THEN RAISE EXCEPTION 'what is in a budget stays as it is'; END IF; RETURN NEW; END $$;
CREATE TRIGGER charge_changed BEFORE UPDATE OR DELETE ON charge FOR EACH ROW EXECUTE FUNCTION keep_charge();
CREATE TRIGGER charge_emptied BEFORE TRUNCATE ON charge EXECUTE FUNCTION keep_charge();
CREATE FUNCTION keep_meta() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF TG_OP <> 'UPDATE' THEN RAISE EXCEPTION 'what is in a budget stays as it is'; END IF; IF NOT (1 = 0) THEN RAISE EXCEPTION 'what is in a budget stays as it is'; END IF; RETURN NEW; END $$;
CREATE TRIGGER meta_changed BEFORE UPDATE OR DELETE ON meta FOR EACH ROW EXECUTE FUNCTION keep_meta();
CREATE TRIGGER meta_emptied BEFORE TRUNCATE ON meta EXECUTE FUNCTION keep_meta();
INSERT INTO account (id, name, kind, measure, alpha, speaks_of, most, spent, most_delta, spent_delta, opened, closed) OVERRIDING SYSTEM VALUE VALUES (1, '\xd3bea6e56abb1c9effd3a4bc2487f9ed650a3d23d28166b497a1cf824047e91d', 'corpus', 'approximate', NULL, '{"leaks": [], "metric": "", "neighbors": "two corpora of which one lacks one example of the other, its place left empty", "notion": "approximate differential privacy", "scope": "every word", "uncovered": [], "unit": "example", "vectors or policy": ""}', 8000000000, 3500000000, 10000000000000, 3000000000000, '2026-11-17T23:36:03.148+00:00', NULL);
INSERT INTO account (id, name, kind, measure, alpha, speaks_of, most, spent, most_delta, spent_delta, opened, closed) OVERRIDING SYSTEM VALUE VALUES (2, '\x8bafcecf9dff5e1667c58dde672aff5e7b1126f6983b878b65f4bdd56b615299', 'author', 'level', NULL, '{"leaks": [], "metric": "euclidean", "neighbors": "any two words", "notion": "metric differential privacy", "scope": "every word", "uncovered": [], "unit": "word", "vectors or policy": "8bb1368f90684242dcf18b60066dbbebccf2422a2d3388a98602249cce30f620"}', 30000000000, 20000000000, 0, 0, '2026-11-17T23:36:03.174+00:00', NULL);
INSERT INTO account (id, name, kind, measure, alpha, speaks_of, most, spent, most_delta, spent_delta, opened, closed) OVERRIDING SYSTEM VALUE VALUES (3, '\xdeaa3b0c99a274fac78e9b08ed2833b9eeadb7c8bcdf636273fd71ae9b76ef31', 'text', 'level', NULL, '', 4611686018427387904, 0, 0, 0, '2026-11-17T23:36:03.191+00:00', NULL);
INSERT INTO account (id, name, kind, measure, alpha, speaks_of, most, spent, most_delta, spent_delta, opened, closed) OVERRIDING SYSTEM VALUE VALUES (4, '\xc4ba91c63f3ec1f5ae568a8eb17ff89e48d250b7fcdf009f4040f3353dab327d', 'corpus', 'renyi', 4.0, '', 2000000000, 0, 0, 0, '2026-11-17T23:36:03.199+00:00', '2026-11-17T23:36:03.203+00:00');
INSERT INTO charge (account, key, request, amount, delta, state, guarantee, outcome, at) VALUES (1, 'a', '\x5a060888a0a4bb3a07853c54a626208deb24a3892ee842caefd5582a7b7f4777', 1500000000, 1000000000000, 'spent', '{"notion": "approximate differential privacy", "epsilon": 1.5, "delta": 1e-06, "sentence": "For every word, any output is at most exp(1.5) times likelier (up to a probability of 1e-06) for one of two neighbors than for the other, neighbors being two corpora of which one lacks one example of the other, its place left empty."}', 'about 130', '2026-11-17T23:36:03.156+00:00');
INSERT INTO charge (account, key, request, amount, delta, state, guarantee, outcome, at) VALUES (1, 'run', '\xc28d996c9e7ee2fdbebaca7d39023bec8d7a0e00c577051392ea9f5974c8346b', 2000000000, 2000000000000, 'held', '{"notion": "approximate differential privacy", "epsilon": 2.0, "delta": 2e-06, "sentence": "For every word, any output is at most exp(2) times likelier (up to a probability of 2e-06) for one of two neighbors than for the other, neighbors being two corpora of which one lacks one example of the other, its place left empty."}', NULL, '2026-11-17T23:36:03.164+00:00');
INSERT INTO charge (account, key, request, amount, delta, state, guarantee, outcome, at) VALUES (2, 'line-1', '\xb7233e0714623450a87d4ef52f6cd1633de572c0034f341329a99bac76e83912', 20000000000, 0, 'spent', '{"notion": "metric differential privacy", "epsilon": 5.0, "delta": 0.0, "sentence": "For every word, the original hides among similar ones: whatever is put in its place is at most exp(5\u00b7d) times likelier for one original than for another at distance d (euclidean), comparing any two words; over a document this adds up across its privatized words."}', NULL, '2026-11-17T23:36:03.179+00:00');
INSERT INTO meta (schema, key_check) VALUES (1, '\xa096d9db8fef8b841071be7269d707f79f326940eac58705213e539011ab1d94');
SELECT setval(pg_get_serial_sequence('account', 'id'), 4);
COMMIT;
