import PowerSyncSyncRules
import PowerSyncWire
import Testing

/// The tables of clients, and the parameters of streams.
struct ClientSchemaTests {
    private static let schema = SourceSchema([
        table("public", "notes_a", [("id", .text), ("_rev", .integer), ("size", .integer)]),
        table("public", "notes_b", [("id", .text), ("size", .text), ("extra", .real)]),
        table("other", "notes_c", [("hidden", .text)]),
    ])

    private static func table(
        _ schema: String, _ name: String, _ columns: [(String, ValueType)]
    ) -> SourceSchema.Table {
        SourceSchema.Table(
            schema: ExactText(schema), name: ExactText(name),
            columns: columns.map { SourceSchema.Column(name: ExactText($0.0), type: $0.1) })
    }

    private func processor(
        _ name: String, _ type: RowProcessor.OutputType, _ outputs: [RowProcessor.Output], edition: Int = 3
    ) -> RowProcessor {
        let pattern = TablePattern(
            tag: .exact(ExactText("default")), schema: .exact(ExactText("public")),
            name: NamePart(ExactText(name)))
        return RowProcessor(table: pattern, type: type, outputs: outputs, form: .edition(edition))
    }

    private func output(_ name: String, _ expression: Expression) -> RowProcessor.Output {
        .column(expression, name: ExactText(name))
    }

    /// The tables as text: `name: column types, …`.
    private func tables(_ processors: [RowProcessor]) -> [String] {
        let plan = SyncPlan(
            edition: 3, options: CompatibilityOptions(edition: 3), streams: [],
            sources: processors.map { BucketSource(name: ExactText("s"), processors: [$0]) })
        let letters: [(ValueType, String)] = [(.integer, "i"), (.real, "r"), (.text, "t"), (.blob, "b")]
        return ClientSchema(of: plan, schema: Self.schema).tables.map { table in
            let columns = table.columns.map { column in
                let types = letters.filter { column.type.contains($0.0) }.map { $0.1 }.joined()
                return "\(column.name.text) \(types)"
            }
            return "\(table.name.text): \(columns.joined(separator: ", "))"
        }
    }

    @Test func aWildcardMakesATableOfEach() {
        #expect(
            tables([processor("notes_%", .table, [.allColumns])]) == [
                "notes_a: id t, _rev i, size i", "notes_b: id t, size t, extra r",
            ])
        // Under one name they are one table, with the types of all.
        #expect(
            tables([processor("notes_%", .named(ExactText("notes")), [.allColumns])]) == [
                "notes: id t, _rev i, size it, extra r"
            ])
    }

    @Test func whatAllProcessorsMakeIsJoined() {
        let size = Expression.column(.row(0), ExactText("size"))
        let name = RowProcessor.OutputType.named(ExactText("z"))
        #expect(
            tables([
                processor(
                    "notes_b", name, [output("id", .literal(ScalarValue(text: "x"))), output("n", size)]),
                processor("notes_a", .named(ExactText("a")), [.allColumns]),
                processor("notes_a", name, [output("n", size), output("m", .literal(.real(1)))]),
            ]) == ["a: id t, _rev i, size i", "z: id t, n it, m r"])
    }

    @Test func columnsOfOneNameAreAsTheEditionTakesThem() {
        let literal = Expression.literal(.real(1))
        let table = RowProcessor.OutputType.named(ExactText("a"))
        let aliasLast: [RowProcessor.Output] = [.allColumns, output("size", literal)]
        let aliasFirst: [RowProcessor.Output] = [output("size", literal), .allColumns]
        #expect(tables([processor("notes_a", table, aliasLast)]) == ["a: id t, _rev i, size r"])
        #expect(tables([processor("notes_a", table, aliasFirst)]) == ["a: size i, id t, _rev i"])
        // The alias may be NULL, and `*` leaves out what begins with an underscore.
        #expect(tables([processor("notes_a", table, aliasLast, edition: 2)]) == ["a: id t, size ir"])
    }

    @Test func ofAnUnknownTableTheNamesAreKnown() {
        let column = Expression.column(.row(0), ExactText("size"))
        let outputs: [RowProcessor.Output] = [
            .allColumns, output("size", column), output("n", .isNull(column)),
        ]
        #expect(tables([processor("gone", .named(ExactText("gone")), outputs)]) == ["gone: size irtb, n i"])
        #expect(tables([processor("gone%", .table, outputs)]).isEmpty)
    }

    @Test func parametersAreFoundInAllParts() {
        func parameter(_ argument: String, _ source: RequestParameter.Source = .subscription) -> Expression {
            .parameter(RequestParameter(source, argument: argument))
        }
        func member(_ key: String) -> Expression {
            .member(.request(.subscription), .literal(ScalarValue(text: key)), .value)
        }
        let queriers = [
            Querier(
                source: 0, gates: [.comparison(.equal, parameter("gate"), .literal(.null))],
                stages: [
                    .elements(parameter("list"), filters: [.isNull(member("filter"))]),
                    .lookup(0, keys: [[parameter("key"), parameter("other")]], filters: [member("$.a.b")]),
                ], keys: [[.cast(.text, parameter("$.deep.path"))]]),
            Querier(
                source: 0, keys: [[parameter("gate"), parameter("user", .auth), .request(.subscription)]]),
            Querier(source: 0, keys: [[parameter("c", .connection), parameter("$")]]),
        ]
        let stream = StreamPlan(name: ExactText("s"), isDefault: false, priority: 3, queriers: queriers)
        #expect(
            stream.subscriptionParameters.map(\.text) == [
                "a", "deep", "filter", "gate", "key", "list", "other",
            ])
    }
}
