BEGIN TRANSACTION;
CREATE TABLE account (
  id INTEGER PRIMARY KEY,
  name BLOB NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  measure TEXT NOT NULL,
  alpha REAL,
  speaks_of TEXT NOT NULL,
  most INTEGER NOT NULL,
  spent INTEGER NOT NULL DEFAULT 0,
  most_delta INTEGER NOT NULL,
  spent_delta INTEGER NOT NULL DEFAULT 0,
  opened TEXT NOT NULL,
  closed TEXT,
  CHECK (spent BETWEEN 0 AND most),
  CHECK (spent_delta BETWEEN 0 AND most_delta)
) STRICT
;
INSERT INTO "account" VALUES(1,X'D3BEA6E56ABB1C9EFFD3A4BC2487F9ED650A3D23D28166B497A1CF824047E91D','corpus','approximate',NULL,'{"leaks": [], "metric": "", "neighbors": "two corpora of which one lacks one example of the other, its place left empty", "notion": "approximate differential privacy", "scope": "every word", "uncovered": [], "unit": "example", "vectors or policy": ""}',8000000000,3500000000,10000000000000,3000000000000,'2026-11-17T23:36:03.148+00:00',NULL);
INSERT INTO "account" VALUES(2,X'8BAFCECF9DFF5E1667C58DDE672AFF5E7B1126F6983B878B65F4BDD56B615299','author','level',NULL,'{"leaks": [], "metric": "euclidean", "neighbors": "any two words", "notion": "metric differential privacy", "scope": "every word", "uncovered": [], "unit": "word", "vectors or policy": "8bb1368f90684242dcf18b60066dbbebccf2422a2d3388a98602249cce30f620"}',30000000000,20000000000,0,0,'2026-11-17T23:36:03.174+00:00',NULL);
INSERT INTO "account" VALUES(3,X'DEAA3B0C99A274FAC78E9B08ED2833B9EEADB7C8BCDF636273FD71AE9B76EF31','text','level',NULL,'',4611686018427387904,0,0,0,'2026-11-17T23:36:03.191+00:00',NULL);
INSERT INTO "account" VALUES(4,X'C4BA91C63F3EC1F5AE568A8EB17FF89E48D250B7FCDF009F4040F3353DAB327D','corpus','renyi',4.0,'',2000000000,0,0,0,'2026-11-17T23:36:03.199+00:00','2026-11-17T23:36:03.203+00:00');
CREATE TABLE charge (
  account INTEGER NOT NULL REFERENCES account,
  key TEXT NOT NULL,
  request BLOB NOT NULL,
  amount INTEGER NOT NULL CHECK (amount >= 0),
  delta INTEGER NOT NULL CHECK (delta >= 0),
  state TEXT NOT NULL CHECK (state IN ('held', 'spent')),
  guarantee TEXT NOT NULL,
  outcome TEXT,
  at TEXT NOT NULL,
  PRIMARY KEY (account, key)
) STRICT
;
INSERT INTO "charge" VALUES(1,'a',X'5A060888A0A4BB3A07853C54A626208DEB24A3892EE842CAEFD5582A7B7F4777',1500000000,1000000000000,'spent','{"notion": "approximate differential privacy", "epsilon": 1.5, "delta": 1e-06, "sentence": "For every word, any output is at most exp(1.5) times likelier (up to a probability of 1e-06) for one of two neighbors than for the other, neighbors being two corpora of which one lacks one example of the other, its place left empty."}','about 130','2026-11-17T23:36:03.156+00:00');
INSERT INTO "charge" VALUES(1,'run',X'C28D996C9E7EE2FDBEBACA7D39023BEC8D7A0E00C577051392EA9F5974C8346B',2000000000,2000000000000,'held','{"notion": "approximate differential privacy", "epsilon": 2.0, "delta": 2e-06, "sentence": "For every word, any output is at most exp(2) times likelier (up to a probability of 2e-06) for one of two neighbors than for the other, neighbors being two corpora of which one lacks one example of the other, its place left empty."}',NULL,'2026-11-17T23:36:03.164+00:00');
INSERT INTO "charge" VALUES(2,'line-1',X'B7233E0714623450A87D4EF52F6CD1633DE572C0034F341329A99BAC76E83912',20000000000,0,'spent','{"notion": "metric differential privacy", "epsilon": 5.0, "delta": 0.0, "sentence": "For every word, the original hides among similar ones: whatever is put in its place is at most exp(5\u00b7d) times likelier for one original than for another at distance d (euclidean), comparing any two words; over a document this adds up across its privatized words."}',NULL,'2026-11-17T23:36:03.179+00:00');
CREATE TABLE meta (schema INTEGER NOT NULL, key_check BLOB NOT NULL) STRICT;
INSERT INTO "meta" VALUES(1,X'A096D9DB8FEF8B841071BE7269D707F79F326940EAC58705213E539011AB1D94');
CREATE TRIGGER account_deleted BEFORE DELETE ON account BEGIN SELECT RAISE(ABORT, 'what is in a budget stays as it is'); END;
CREATE TRIGGER account_changed BEFORE UPDATE ON account WHEN NOT (NEW.id IS OLD.id AND NEW.name IS OLD.name AND NEW.kind IS OLD.kind AND NEW.measure IS OLD.measure AND NEW.alpha IS OLD.alpha AND NEW.most IS OLD.most AND NEW.most_delta IS OLD.most_delta AND NEW.opened IS OLD.opened AND (OLD.speaks_of = '' OR NEW.speaks_of = OLD.speaks_of) AND (OLD.closed IS NULL OR (NEW.closed = OLD.closed AND NEW.spent <= OLD.spent)) AND (NEW.spent >= OLD.spent OR NEW.spent >= (SELECT COALESCE(SUM(amount), 0) FROM charge WHERE account = OLD.id)) AND (NEW.spent_delta >= OLD.spent_delta OR NEW.spent_delta >= (SELECT COALESCE(SUM(delta), 0) FROM charge WHERE account = OLD.id))) BEGIN SELECT RAISE(ABORT, 'what is in a budget stays as it is'); END;
CREATE TRIGGER charge_deleted BEFORE DELETE ON charge BEGIN SELECT RAISE(ABORT, 'what is in a budget stays as it is'); END;
CREATE TRIGGER charge_changed BEFORE UPDATE ON charge WHEN NOT (NEW.account IS OLD.account AND NEW.key IS OLD.key AND NEW.request IS OLD.request AND NEW.guarantee IS OLD.guarantee AND NEW.at IS OLD.at AND ((OLD.state = 'held' AND NEW.state = 'spent' AND NEW.amount <= OLD.amount AND NEW.delta <= OLD.delta) OR (NEW.state = OLD.state AND NEW.amount = OLD.amount AND NEW.delta = OLD.delta AND NEW.outcome IS NULL))) BEGIN SELECT RAISE(ABORT, 'what is in a budget stays as it is'); END;
CREATE TRIGGER meta_deleted BEFORE DELETE ON meta BEGIN SELECT RAISE(ABORT, 'what is in a budget stays as it is'); END;
CREATE TRIGGER meta_changed BEFORE UPDATE ON meta WHEN NOT (1 = 0) BEGIN SELECT RAISE(ABORT, 'what is in a budget stays as it is'); END;
CREATE TRIGGER account_doubled BEFORE INSERT ON account WHEN EXISTS (SELECT 1 FROM account WHERE name = NEW.name OR id = NEW.id) BEGIN SELECT RAISE(ABORT, 'there is one of this name'); END;
CREATE TRIGGER charge_doubled BEFORE INSERT ON charge WHEN EXISTS (SELECT 1 FROM charge WHERE account = NEW.account AND key = NEW.key) BEGIN SELECT RAISE(ABORT, 'there is one of this name'); END;
COMMIT;
