import PowerSyncWire
import Testing

@testable import PowerSync

/// Client-core 6.13, 9.16.
@Suite struct DiagnosticsVectorTests {
    private func changes(_ instructions: [JSON]) -> [String] {
        instructions.compactMap { $0["HandleDiagnostics"]?["SchemaChange"] }.map {
            "\($0["table"]?.stringValue ?? "?").\($0["column"]?.stringValue ?? "?") "
                + ($0["value_type"]?.stringValue ?? "?")
        }
    }

    private func put(_ op: Int, _ data: String) -> String {
        SyncLines.data("a", SyncLines.put(op, "row\(op)", data: data))
    }

    @Test("147: types of columns as they are seen", arguments: LineEncoding.allCases)
    func typesOfColumns(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try bench.begin(#"{"diagnostics":{}}"#)
        let first = try bench.line(put(1, #"{"id":"x","text":"text","int":3,"double":3.14,"null":null}"#))
        #expect(changes(first) == ["items.text String", "items.int Integer", "items.double Real"])
        let second = try bench.line(put(2, #"{"text":null,"int":3.123,"double":1.23}"#))
        #expect(changes(second) == ["items.int Real"])
        #expect(
            changes(try bench.line(put(3, #"{"text":5,"int":"x","flag":true}"#))) == [
                "items.int String", "items.flag Integer",
            ])
        #expect(
            changes(try bench.line(put(4, #"{"int":1,"list":[1]}"#), put(5, "none"))) == ["items.list String"]
        )
    }

    @Test("147: progress under the buckets' own names", arguments: LineEncoding.allCases)
    func progressOfBuckets(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try bench.begin(#"{"diagnostics":{}}"#)
        let tracked = try bench.line(
            SyncLines.checkpoint(1, [.init("b", priority: 1), .init("a", count: 2)]))
        #expect(tracked.instructions == ["UpdateSyncStatus", "HandleDiagnostics"])
        #expect(
            tracked.first("HandleDiagnostics")?.equals(
                """
                {"BucketStateChange":{"changes":[
                {"name":"a","progress":{"priority":3,"at_last":0,"since_last":0,"target_count":2}},
                {"name":"b","progress":{"priority":1,"at_last":0,"since_last":0,"target_count":1}}],
                "incremental":false}}
                """) == true)
        let saved = try bench.line(put(1, #"{"col":"x"}"#))
        #expect(saved.instructions == ["UpdateSyncStatus", "HandleDiagnostics", "HandleDiagnostics"])
        #expect(
            saved.first("HandleDiagnostics")?.equals(
                """
                {"BucketStateChange":{"changes":[
                {"name":"a","progress":{"priority":3,"at_last":0,"since_last":1,"target_count":2}}],
                "incremental":true}}
                """) == true)
        #expect(try bench.line(ControlBench.put("other", 1, "r")).instructions.isEmpty)
        let complete = try bench.line(
            SyncLines.complete(), SyncLines.diff(2, updated: [.init("b", count: 3)]))
        let changes = complete.first("HandleDiagnostics")?["BucketStateChange"]?["changes"]?.arrayValue
        #expect(changes?.compactMap { $0["progress"]?["at_last"]?.text } == ["2", "0"])
    }

    @Test("6.13: nothing without being asked", arguments: ["{}", #"{"diagnostics":null}"#])
    func onlyOnDemand(_ payload: String) throws {
        let bench = try ControlBench()
        try bench.begin(payload)
        let effects = try bench.line(SyncLines.checkpoint(1, [.init("a")]), put(1, #"{"col":"x"}"#))
        #expect(effects.instructions == ["UpdateSyncStatus", "UpdateSyncStatus"])
    }
}
