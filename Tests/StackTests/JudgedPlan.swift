import PowerSyncSyncRules
import PowerSyncWire

/// A plan written by hand, for what judges plans.
enum JudgedPlan {
    private static func column(_ name: String) -> Expression { .column(.row(0), ExactText(name)) }

    private static func table(_ name: String) -> TablePattern {
        TablePattern(
            tag: .exact(ExactText("default")), schema: .exact(ExactText("public")),
            name: NamePart(ExactText(name)))
    }

    /// `SELECT *, 1 AS one FROM items` in buckets of (id, n), and for each request those of the rows that a lookup finds.
    static let plan = SyncPlan(
        edition: 3, options: CompatibilityOptions(edition: 3),
        streams: [
            StreamPlan(
                name: ExactText("s"), isDefault: true, priority: 3,
                queriers: [
                    Querier(
                        source: 0,
                        stages: [.lookup(0, keys: [[.parameter(.userID)]], filters: [])],
                        keys: [[.column(.row(0), ExactText("0"))], [.literal(.integer(1))]]),
                    Querier(
                        source: 1,
                        stages: [
                            .elements(
                                .parameter(RequestParameter(.connection, argument: "list")), filters: [])
                        ], keys: [[.element(.element(0), .value)]]),
                ])
        ],
        sources: [
            BucketSource(
                name: ExactText("s|0"),
                processors: [
                    RowProcessor(
                        table: table("items"), type: .named(ExactText("items")),
                        keys: [column("id"), column("n")],
                        outputs: [.allColumns, .column(.literal(.integer(1)), name: ExactText("one"))],
                        form: .edition(3))
                ]),
            BucketSource(
                name: ExactText("s|1"),
                processors: [
                    RowProcessor(
                        table: table("it%"), type: .table, expansions: [column("j")],
                        filters: [.not(.isNull(.element(.element(0), .key)))],
                        keys: [.element(.element(0), .value)],
                        outputs: [.column(column("id"), name: ExactText("id"))], form: .edition(3))
                ]),
        ],
        lookups: [
            LookupDefinition(
                name: ExactText("lookup|0"), table: table("items"), filters: [.not(.isNull(column("n")))],
                keys: [.literal(.init(text: "u1"))], outputs: [column("id")])
        ])
}
