import PowerSyncSyncRules
import PowerSyncWire
import Testing

/// The YAML of configurations of all editions (service 6.1, 6.2, 9.8).
struct DocumentReaderTests {
    /// What is said of a text.
    private func diagnostics(_ text: String) -> [Diagnostic] { SyncConfig.compile(text).diagnostics.all }

    private func document(_ text: String) throws -> SyncDocument {
        var diagnostics = DiagnosticList()
        return try #require(DocumentReader.read(SourceText(text), &diagnostics))
    }

    private static let alpha =
        "This is using an alpha version of Sync Streams. We recommend upgrading `config.edition` to version 3 "
        + "to support the latest features."

    private static let inEdition3 =
        "'bucket_definitions' are not supported by the new compiler. Consider using "
        + "https://powersync-community.github.io/bucket-definitions-to-sync-streams/ to translate them to streams."

    /// Vectors of service 9.8 by number.
    private static let vectorTable: [(Int, String, [String])] = [
        (3, "bucket_definitions:\n  mybucket:\n", ["'mybucket' bucket definition must be an object"]),
        (
            4, "bucket_definitions:\n  b:\n    priority: instant\n    data: []\n",
            ["Invalid priority, expected a number between 0 and 3 (inclusive)."]
        ),
        (
            5, "config:\n  unknown_option: 1\nbucket_definitions:\n  b: {data: []}\n",
            ["Unknown key 'unknown_option'."]
        ),
        (
            6, "config: {edition: 1, timestamp_max_precision: seconds}\nbucket_definitions: {}\n",
            ["'timestamp_max_precision' requires 'timestamps_iso8601' to be enabled."]
        ),
        (7, "config: {edition: 2}\nstreams: {s: {query: SELECT id FROM t}}\n", [alpha]),
        (
            8, "config: {edition: 2}\nwith: {c: SELECT a FROM t}\nstreams: {s: {query: SELECT id FROM t}}\n",
            ["Common table expressions require edition 3.", alpha]
        ),
        (
            9, "config: {edition: 3}\nbucket_definitions: {b: {data: []}}\nstreams: {}\n",
            [inEdition3]
        ),
        (
            10, "config: {edition: 3}\nstreams:\n  s:\n    with: {foo: SELECT a FROM t}\n",
            [
                "One of `queries` or `query` must be given.",
                "This common table expression isn't referenced.",
            ]
        ),
        (
            11, "config: {edition: 3}\nstreams:\n  s:\n    with:\n      foo: [a]\n    query: [b]\n",
            ["Expected a scalar here.", "Expected a scalar here."]
        ),
        (
            12, "config: {edition: 3, storage_version: 3}\nstreams: {s: {query: SELECT * FROM t}}\n",
            ["Storage version 3 is unstable, a later version may have to replicate everything anew."]
        ),
        (
            12, "config: {edition: 3, storage_version: 1}\nstreams: {s: {query: SELECT * FROM t}}\n",
            ["Storage version 1 is not supported"]
        ),
        (
            13, "config: {unstable_sqlite_expression_engine: true}\nbucket_definitions: {}\n",
            ["'unstable_sqlite_expression_engine' requires edition: 3."]
        ),
    ]

    @Test(arguments: vectorTable)
    func vectors(_ number: Int, _ text: String, _ messages: [String]) {
        #expect(diagnostics(text).map(\.message) == messages, "W\(number)")
    }

    private static let streams = "streams: {s: {query: SELECT * FROM t}}\n"

    /// What is wrong, with its name and the part of the text that it is about.
    private static let mistakes: [(String, [String])] = [
        ("", ["empty-document: "]),
        ("# nothing\n", ["empty-document: "]),
        ("x", ["root-not-map: x"]),
        ("- a\n- b\n", ["root-not-map: - a\n- b"]),
        ("a: [\n", ["yaml-syntax: "]),
        ("a: 1\n b: 2\n", ["yaml-syntax: "]),
        (
            "streams: 1\nstreams: 2\nwith: 1\nwith: 2\n",
            ["yaml-duplicate-key: streams", "yaml-duplicate-key: with"]
        ),
        ("config: {}\n", ["definitions-missing: "]),
        ("streams: 5\n", ["expected-map: 5", "definitions-missing: "]),
        ("config: {edition: 3}\n", ["streams-missing: "]),
        ("config: {edition: 3}\nstreams: 5\n", ["expected-map: 5", "streams-missing: "]),
        ("config: {edition: 3}\nwith:\n\(streams)", ["expected-map: "]),
        ("config: {edition: 3}\nstreams: {}\n", ["no-definitions: streams"]),
        ("bucket_definitions: {}\n", ["no-definitions: bucket_definitions"]),
        ("config: 3\nbucket_definitions: {b: {data: []}}\n", ["expected-map: 3"]),
        ("config: {edition: '3'}\nbucket_definitions: {b: {data: []}}\n", ["must-be-numeric: '3'"]),
        ("config: {edition: [3]}\nbucket_definitions: {b: {data: []}}\n", ["expected-scalar: [3]"]),
        ("config: {edition: 4, x: 1}\n\(streams)", ["must-be-below-four: edition", "unknown-key: x"]),
        (
            "config: {edition: 3, timestamps_iso8601: yes, storage_version: x}\n\(streams)",
            ["must-be-numeric: x", "must-be-boolean: yes"]
        ),
        (
            "config: {edition: 3, timestamp_max_precision: days}\n\(streams)", ["precision-invalid: days"]
        ),
        (
            "config: {edition: 3, fixed_json_extract: false, unstable_sqlite_expression_engine: true}\n\(streams)",
            ["engine-needs-json: true"]
        ),
        (
            "config: {edition: 3}\nstreams:\n  0: {query: SELECT * FROM t}\n  s: {query: SELECT * FROM t}\n",
            ["key-not-text: 0"]
        ),
        ("config: {edition: 3}\nstreams: {s: 5, t: {query: SELECT * FROM t}}\n", ["expected-map: 5"]),
        ("config: {edition: 3}\nstreams: {s: {queries: a}}\n", ["expected-sequence: a"]),
        ("config: {edition: 3}\nstreams: {s: {queries: [[a], SELECT * FROM t]}}\n", ["expected-scalar: [a]"]),
        ("config: {edition: 3}\nstreams: {s: {queries: []}}\n", ["query-xor-queries: s"]),
        ("config: {edition: 3}\nstreams: {s: {query: a, queries: [b]}}\n", ["query-xor-queries: s"]),
        (
            "config: {edition: 3}\nstreams:\n  s:\n    nope: 1\n    priority: 1.5\n    query: SELECT * FROM t\nx: 1\n",
            ["priority-invalid: 1.5", "unknown-key: nope", "unknown-key: x"]
        ),
        (
            "config: {edition: 3}\nstreams: {s: {query: SELECT * FROM t, auto_subscribe: yes}}\n",
            ["must-be-boolean: yes"]
        ),
        (
            "streams:\n  s: {query: 'SELECT 1', with: {c: d}}\n  t: {queries: [a]}\n",
            [
                "alpha-streams: s: {query: 'SELECT 1', with: {c: d}}\n  t: {queries: [a]}",
                "cte-needs-compiler: {c: d}", "stream-needs-edition-2: SELECT 1",
                "queries-need-compiler: [a]",
            ]
        ),
        ("config: {edition: 2}\nstreams: {s: {}}\n", ["alpha-streams: {s: {}}", "query-xor-queries: s"]),
        (
            "config: {edition: 2}\nbucket_definitions: {a: {data: []}}\nstreams: {a: {query: SELECT id FROM t}}\n",
            ["alpha-streams: {a: {query: SELECT id FROM t}}", "duplicate-definition: a"]
        ),
        ("bucket_definitions: {b: {}}\n", ["data-missing: b"]),
        ("bucket_definitions: {b: {data: x}}\n", ["expected-sequence: x"]),
        ("bucket_definitions: {b: {data: [], parameters: {}}}\n", ["parameters-not-text: {}"]),
        ("bucket_definitions: {b: {data: [], parameters: [a, [b]]}}\n", ["parameters-not-text: [a, [b]]"]),
        (
            "bucket_definitions: {b: {data: []}}\nevent_definitions: {write_checkpoints: {}}\n",
            ["expected-sequence: write_checkpoints"]
        ),
        (
            "bucket_definitions: {b: {data: []}}\nevent_definitions: {e: {payloads: [], x: 1}}\n",
            ["event-unknown: e", "unknown-key: x"]
        ),
    ]

    @Test(arguments: mistakes)
    func saysWhatIsWrongAndWhere(_ text: String, _ expected: [String]) {
        let bytes = Array(text.utf8)
        let found = diagnostics(text).map { diagnostic in
            let part = String(decoding: bytes[diagnostic.range.start..<diagnostic.range.end], as: UTF8.self)
            return "\(diagnostic.name.rawValue): \(part)"
        }
        #expect(found == expected)
    }

    @Test func theAdminRoutesHaveOtherPlaces() {
        let yes = diagnostics(
            "config: {edition: 3}\nstreams:\n  s:\n    query: SELECT * FROM t\n    auto_subscribe: yes # x\n")
        #expect(yes.map(\.range) == [TextRange(start: 82, end: 85)])
        let text = Recorded(.text("must be a boolean", TextRange(start: 82, end: 90)))
        #expect(yes.map(\.recorded) == [text])
        let edition = diagnostics("config: {edition: 4}\nstreams: {s: {query: SELECT * FROM t}}\n")
        let beginning = Recorded(.text("must be < 4", TextRange(start: 0, end: 10)))
        #expect(edition.map(\.recorded) == [beginning])
        let beside = diagnostics("config: {edition: 4}\nstreams: {s: {query: SELECT 1 AS id}}\n")
        #expect(beside.map(\.name) == [.noTableColumn, .mustBeBelowFour])
        #expect(beside.last?.recorded == Recorded(.silent))
        let crash = Recorded(.text("Cannot read properties of null (reading 'range')", nil))
        #expect(diagnostics("").map(\.recorded) == [crash])
        let silent = diagnostics("bucket_definitions: {}\n")
        #expect(silent.map(\.recorded) == [Recorded(.silent)] && silent.map(\.severity) == [.warning])
    }

    @Test func aTextOverTheLimitIsRefused() {
        let text = "streams: {}\n#" + String(repeating: "x", count: 1 << 20)
        #expect(diagnostics(text).map(\.name) == [.tooLarge])
    }

    @Test func readsStreams() throws {
        let config = try document(
            """
            config: {edition: 3, storage_version: 2, timestamp_max_precision: milliseconds}
            with:
              mine: SELECT id FROM a
            streams:
              s:
                auto_subscribe: true
                priority: 1
                accept_potentially_dangerous_queries: true
                with: {own: SELECT id FROM b}
                queries:
                  - SELECT * FROM t
                  - !accept_potentially_dangerous_queries "SELECT * FROM u"
              bad name!: {query: 5}
            event_definitions:
              write_checkpoints: {payloads: [SELECT c FROM d]}
            """)
        #expect(config.allDiagnostics.all.isEmpty)
        #expect(config.edition == 3 && config.definitions.isEmpty)
        #expect(config.options.fractionDigits == 3 && config.options.timestampsISO8601)
        func texts(_ queries: [QueryText]) -> [String] {
            queries.map { String(decoding: $0.bytes, as: UTF8.self) }
        }
        #expect(config.commonTables.map(\.name) == [ExactText("mine")])
        let stream = config.streams[0]
        #expect(stream.name == ExactText("s") && stream.isDefault && stream.priority == 1)
        #expect(
            stream.acceptsDangerousQueries && texts(stream.queries) == ["SELECT * FROM t", "SELECT * FROM u"])
        #expect(texts(stream.commonTables.map(\.query)) == ["SELECT id FROM b"])
        let other = config.streams[1]
        #expect(other.name == ExactText("bad name!") && !other.isDefault && other.priority == 3)
        #expect(texts(other.queries) == ["5"] && !other.acceptsDangerousQueries)
        #expect(config.events.map(\.name) == [ExactText("write_checkpoints")])
        #expect(texts(config.events.flatMap(\.payloads)) == ["SELECT c FROM d"])
    }

    @Test func readsBucketDefinitionsAndFlags() throws {
        let config = try document(
            """
            config:
              edition: 2
              custom_postgres_types: false
              versioned_bucket_ids: false
            bucket_definitions:
              a:
                priority: 0
                parameters: SELECT 1 AS x
                data: [SELECT * FROM t, SELECT * FROM u]
              b:
                accept_potentially_dangerous_queries: true
                parameters: [SELECT 2 AS y, SELECT 3 AS y]
                data: []
              c: {data: []}
            """)
        #expect(config.allDiagnostics.all.isEmpty && config.edition == 2)
        #expect(!config.options.customPostgresTypes && !config.options.versionedBucketIDs)
        #expect(config.options.fixedJSONExtract && config.options.engine == .standard)
        #expect(config.definitions.map(\.priority) == [0, nil, nil])
        #expect(config.definitions.map { $0.parameters?.count } == [1, 2, nil])
        #expect(config.definitions.map(\.data.count) == [2, 0, 0])
        #expect(config.definitions.map(\.acceptsDangerousQueries) == [false, true, false])
        #expect(config.definitions[0].priorityRange != nil && config.definitions[1].priorityRange == nil)
        let old = try document("bucket_definitions: {a: {data: []}}\nconfig: {timestamps_iso8601: true}\n")
        #expect(old.edition == 1 && old.options.timestampsISO8601 && !old.options.fixedJSONExtract)
        let engine = try document(
            "config: {edition: 3, unstable_sqlite_expression_engine: true}\nstreams: {s: {query: a}}\n")
        #expect(engine.options.engine == .sqlite)
    }
}
