import PowerSyncYAML
import Testing

@testable import PowerSyncStack

struct SyncConfigDefaultTests {
    @Test func everyTableIsAQueryWithQuotedNames() throws {
        let text = try SyncConfigDefault.everything([
            PublishedTable(schema: "public", name: "todos"),
            PublishedTable(schema: "other", name: "odd \"name\""),
        ])
        #expect(
            text == """
                config:
                  edition: 3
                streams:
                  everything:
                    auto_subscribe: true
                    queries:
                      - SELECT * FROM "todos"
                      - SELECT * FROM "other"."odd ""name"\""

                """)
        let root = try YAMLNode.parse(text)
        #expect(root?["streams"]?["everything"]?["queries"] != nil)
    }

    @Test func withoutTablesItSaysWhatToDo() {
        let error = #expect(throws: StackError.self) { try SyncConfigDefault.everything([]) }
        #expect(error?.message.contains("--schema FILE.sql") == true)
    }
}
