import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Service 9.3, a case for each number.
struct Edition1VectorTests {
    /// A row, and what it becomes.
    private struct RowVector {
        let number: Int
        let parameters: [String]?
        let data: [String]
        let table: String
        let row: String
        let expected: [String]

        init(
            _ number: Int, _ parameters: [String]?, _ data: [String], in table: String = "assets",
            _ row: String, _ expected: [String]
        ) {
            self.number = number
            self.parameters = parameters
            self.data = data
            self.table = table
            self.row = row
            self.expected = expected
        }
    }

    /// A request, and its buckets.
    private struct RequestVector {
        let number: Int
        let parameters: String
        let rows: [(table: String, row: String)]
        let token: String
        let connection: String?
        let config: String
        let expected: [String]

        init(
            _ number: Int, _ parameters: String, token: String = #"{"sub":"user1"}"#,
            connection: String? = nil, config: String = "edition: 1",
            rows: [(table: String, row: String)] = [], _ expected: [String]
        ) {
            self.number = number
            self.parameters = parameters
            self.rows = rows
            self.token = token
            self.connection = connection
            self.config = config
            self.expected = expected
        }
    }

    private static let userAndDevice = ["SELECT token_parameters.user_id, user_parameters.device_id"]
    private static let ofUserAndDevice = [
        "SELECT id FROM assets WHERE assets.user_id = bucket.user_id AND "
            + "assets.device_id = bucket.device_id AND NOT assets.archived"
    ]
    private static let admin = ["SELECT token_parameters.is_admin"]
    private static let ofAdmin = [
        "SELECT id FROM assets WHERE bucket.is_admin",
        "SELECT id FROM assets WHERE (bucket.is_admin OR bucket.is_admin = false) AND assets.role != 'admin'",
    ]
    private static let division =
        "SELECT id, (5 / 2) AS int, (5 / 2.0) AS float, (CAST(5 AS real) / 2) AS float2 FROM assets"
    private static let numbers = [
        "SELECT token_parameters.int1, token_parameters.float1, token_parameters.float2"
    ]
    private static let ofNumbers = [
        "SELECT id FROM assets WHERE assets.int1 = bucket.int1 AND assets.float1 = bucket.float1 AND "
            + "assets.float2 = bucket.float2"
    ]
    private static let renamed = [
        "SELECT client_id AS id, description, '1' as rule FROM assets_123 as assets "
            + "WHERE assets.archived = false",
        "SELECT other_id AS id, description, '2' as rule FROM assets_123 as assets "
            + "WHERE assets.archived = false",
    ]
    private static let suffixed = [
        "SELECT client_id AS id, description, _table_suffix as suffix, * FROM \"assets_%\" as assets "
            + "WHERE assets.archived = false AND _table_suffix > '100'"
    ]
    private static let members = [
        "SELECT id, data ->> 'count' AS count, data -> 'bool' AS bool1, data ->> 'bool' AS bool2, "
            + "'true' ->> '$' as bool3, json_extract(data, '$.bool') AS bool4 FROM assets"
    ]
    private static let projects = [
        "SELECT * FROM projects WHERE org_id = bucket.org_id",
        "SELECT p.id, p.name AS title FROM projects AS p WHERE p.org_id = bucket.org_id AND p.public = true",
    ]
    private static let membership =
        "SELECT org_id FROM memberships WHERE user_id::text = request.user_id() AND active = true"
    private static let ofMembers = [
        "SELECT id::text AS id, role FROM memberships WHERE org_id::text = bucket.org_id"
    ]
    private static let org = "00000000-0000-0000-0000-000000000001"

    private static let rowVectors: [RowVector] = [
        RowVector(
            1, nil, ["SELECT id, description FROM assets"], #"{"id":"asset1","description":"test"}"#,
            [#"mybucket[] assets asset1 {"id":"asset1","description":"test"}"#]),
        RowVector(
            4, userAndDevice, ofUserAndDevice,
            #"{"id":"a","user_id":"user1","device_id":"device1","archived":1}"#, []),
        RowVector(
            4, userAndDevice, ofUserAndDevice, #"{"id":"a","user_id":"user1","device_id":"device1"}"#,
            [#"mybucket["user1","device1"] assets a {"id":"a"}"#]),
        RowVector(
            5, ["SELECT token_parameters.user_id"],
            [
                "SELECT id FROM assets WHERE assets.user_id = bucket.user_id "
                    + "OR assets.owner_id = bucket.user_id"
            ], #"{"id":"a","owner_id":"user1"}"#, [#"mybucket["user1"] assets a {"id":"a"}"#]),
        RowVector(
            7, ["SELECT upper(token_parameters.user_id) AS user_id"],
            [
                "SELECT id, upper(description) AS description_upper FROM assets "
                    + "WHERE upper(assets.user_id) = bucket.user_id"
            ], #"{"id":"asset1","user_id":"user1","description":"test"}"#,
            [#"mybucket["USER1"] assets asset1 {"id":"asset1","description_upper":"TEST"}"#]),
        RowVector(
            8, ["SELECT token_parameters.region_id"],
            ["SELECT id FROM assets WHERE bucket.region_id IN assets.region_ids"],
            #"{"id":"a","region_ids":["region1","region2"]}"#,
            [#"mybucket["region1"] assets a {"id":"a"}"#, #"mybucket["region2"] assets a {"id":"a"}"#]),
        RowVector(
            9, admin, ofAdmin, #"{"id":"a","role":"normal"}"#,
            [
                #"mybucket[1] assets a {"id":"a"}"#, #"mybucket[1] assets a {"id":"a"}"#,
                #"mybucket[0] assets a {"id":"a"}"#,
            ]),
        RowVector(
            9, admin, ofAdmin, #"{"id":"a","role":"admin"}"#, [#"mybucket[1] assets a {"id":"a"}"#]),
        RowVector(
            10, nil, [division], #"{"id":"a"}"#,
            [#"mybucket[] assets a {"id":"a","int":2,"float":2.5,"float2":2.5}"#]),
        RowVector(
            11, numbers, ofNumbers, #"{"id":"a","int1":314,"float1":3.14,"float2":314.0}"#,
            [#"mybucket[314,3.14,314] assets a {"id":"a"}"#]),
        RowVector(
            12, nil, renamed, in: "assets_123",
            #"{"client_id":"asset1","other_id":"other1","description":"d","archived":0}"#,
            [
                #"mybucket[] assets asset1 {"id":"asset1","description":"d","rule":"1"}"#,
                #"mybucket[] assets other1 {"id":"other1","description":"d","rule":"2"}"#,
            ]),
        RowVector(
            13, nil, suffixed, in: "assets_123",
            #"{"client_id":"asset1","other_id":"other1","description":"d","archived":0}"#,
            [
                #"mybucket[] assets asset1 {"id":"asset1","description":"d","suffix":"123","#
                    + #""client_id":"asset1","other_id":"other1","archived":0}"#
            ]),
        RowVector(
            14, nil, ["SELECT *, _table_suffix as suffix, * FROM \"%\" WHERE archived = false"],
            #"{"id":"a","archived":0}"#,
            [#"mybucket[] assets a {"id":"a","archived":0,"suffix":"assets"}"#]),
        RowVector(
            16, nil, members, #"{"id":"a","data":{"count":5,"bool":true}}"#,
            [#"mybucket[] assets a {"id":"a","count":5,"bool1":"true","bool2":1,"bool3":1,"bool4":1}"#]),
        RowVector(
            33, ["SELECT token_parameters.org_id"],
            ["SELECT * FROM assets WHERE assets.org_id = bucket.org_id"], #"{"id":"a","org_id":null}"#, []),
        RowVector(
            35, nil, ["SELECT client_id as id, description FROM \"%\""], in: "test",
            #"{"id":"test1","client_id":"client1b","description":"d"}"#,
            [#"mybucket[] test client1b {"id":"client1b","description":"d"}"#]),
        RowVector(
            38, ["SELECT token_parameters.org_id"], projects, in: "projects",
            #"{"id":"p1","name":"n","org_id":"o1","public":1}"#,
            [
                #"mybucket["o1"] projects p1 {"id":"p1","name":"n","org_id":"o1","public":1}"#,
                #"mybucket["o1"] p p1 {"id":"p1","title":"n"}"#,
            ]),
        RowVector(
            39, [membership], ofMembers, in: "memberships",
            #"{"id":"m1","org_id":"\#(org)","user_id":"user1","role":"r","active":1}"#,
            [#"mybucket["\#(org)"] memberships m1 {"id":"m1","role":"r"}"#]),
        RowVector(
            40, nil, ["SELECT * FROM \"%\" WHERE id = 'singleton'"], in: "app_state",
            #"{"id":"singleton"}"#, [#"mybucket[] app_state singleton {"id":"singleton"}"#]),
        RowVector(
            40, nil, ["SELECT * FROM \"%\" WHERE id = 'singleton'"], in: "counters", #"{"id":1}"#, []),
    ]

    @Test(arguments: rowVectors.indices) func rows(_ index: Int) throws {
        let vector = Self.rowVectors[index]
        let rig = try DefinitionRig(DefinitionRig.yaml(vector.parameters, vector.data))
        let places = try rig.places(vector.row, in: vector.table)
        #expect(places == vector.expected, "L\(vector.number)")
    }

    private static let userIsAdmin =
        "SELECT FROM users WHERE users.id = token_parameters.user_id AND users.is_admin"
    private static let userAndAdmin =
        "SELECT users.id AS user_id, token_parameters.is_admin as is_admin FROM users "
        + "WHERE users.id = token_parameters.user_id"
    private static let either =
        "SELECT id from users WHERE filter_param1 = upper(token_parameters.user_id) "
        + "OR filter_param2 = upper(token_parameters.user_id)"
    private static let group =
        "SELECT id as group_id FROM groups WHERE token_parameters.user_id IN groups.user_ids"
    private static let regions =
        "SELECT id as region_id FROM regions WHERE name IN token_parameters.region_names"
    private static let elements =
        "SELECT json_each.value as v FROM json_each(request.parameters() -> 'array')"
    private static let projectsOfToken =
        "SELECT value ->> 'id' as project_id FROM json_each(request.jwt() -> 'projects') "
        + "WHERE (value ->> 'role') = 'admin'"
    private static let keysOfObject =
        #"SELECT value FROM json_each(json_keys('{"a": [], "b": 2, "c": null}'))"#
    private static let access =
        "SELECT 'read:users' IN (request.jwt() ->> 'permissions') as access_granted"
    private static let userID = "SELECT request.user_id() as user_id"
    private static let userType = "SELECT typeof(request.user_id()) as user_id"
    private static let todos = "SELECT id AS todo FROM todos WHERE list_id IN request.parameters() -> 'lists'"

    private static let requestVectors: [RequestVector] = staticVectors + lookupVectors

    private static let staticVectors: [RequestVector] = [
        RequestVector(
            2, "SELECT WHERE token_parameters.is_admin",
            token: #"{"sub":"u","parameters":{"is_admin":true}}"#, ["mybucket[]"]),
        RequestVector(
            2, "SELECT WHERE token_parameters.is_admin",
            token: #"{"sub":"u","parameters":{"is_admin":false}}"#, []),
        RequestVector(2, "SELECT WHERE token_parameters.is_admin", []),
        RequestVector(
            4, userAndDevice[0], connection: #"{"device_id":"device1"}"#, [#"mybucket["user1","device1"]"#]),
        RequestVector(7, "SELECT upper(token_parameters.user_id) AS user_id", [#"mybucket["USER1"]"#]),
        RequestVector(
            11, numbers[0],
            token: #"{"sub":"u","parameters":{"int1":314,"float1":3.14,"float2":314}}"#,
            ["mybucket[314,3.14,314]"]),
        RequestVector(
            25, elements, connection: #"{"array":[1,2,3,null]}"#,
            ["mybucket[1]", "mybucket[2]", "mybucket[3]", #"mybucket["null"]"#]),
        RequestVector(
            25, elements, connection: #"{"array":[1,2,3,null]}"#, config: "fixed_json_extract: true",
            ["mybucket[1]", "mybucket[2]", "mybucket[3]", "mybucket[null]"]),
        RequestVector(
            26, "SELECT value as v FROM json_each(request.parameters() -> 'array') e WHERE e.value >= 2",
            connection: #"{"array":[1,2,3]}"#, ["mybucket[2]", "mybucket[3]"]),
        RequestVector(
            27, projectsOfToken,
            token: #"{"sub":"u","projects":[{"id":1,"role":"admin"},{"id":2,"role":"user"}]}"#,
            ["mybucket[1]"]),
        RequestVector(28, keysOfObject, [#"mybucket["a"]"#, #"mybucket["b"]"#, #"mybucket["c"]"#]),
        RequestVector(
            29, access, token: #"{"sub":"u","permissions":["read:users"]}"#, ["mybucket[1]"]),
        RequestVector(29, access, token: #"{"sub":"u","permissions":["write"]}"#, ["mybucket[0]"]),
        RequestVector(30, userID, [#"mybucket["user1"]"#]),
        RequestVector(30, userID, token: #"{"sub":123}"#, ["mybucket[123]"]),
        RequestVector(30, userID, token: #"{"sub":true}"#, ["mybucket[1]"]),
        RequestVector(30, userID, token: #"{"sub":{"a":123}}"#, [#"mybucket["{\"a\":123.0}"]"#]),
        RequestVector(31, userType, token: #"{"sub":"123"}"#, [#"mybucket["text"]"#]),
        RequestVector(31, userType, token: #"{"sub":123}"#, [#"mybucket["real"]"#]),
        RequestVector(31, userType, token: #"{"sub":true}"#, [#"mybucket["integer"]"#]),
        RequestVector(
            32, "SELECT request.jwt() ->> 'sub.email' as email",
            token: #"{"sub":{"email":"a@example.org"}}"#, [#"mybucket["a@example.org"]"#]),
        RequestVector(
            37, "SELECT token_parameters.org AS org_id, token_parameters.user_id",
            token: #"{"sub":"u1","org":"o1"}"#, [#"mybucket[null,"u1"]"#]),
    ]

    private static let lookupVectors: [RequestVector] = [
        RequestVector(3, userIsAdmin, rows: [("users", #"{"id":"user1","is_admin":1}"#)], ["mybucket[]"]),
        RequestVector(3, userIsAdmin, rows: [("users", #"{"id":"user1","is_admin":0}"#)], []),
        RequestVector(
            18, group, rows: [("groups", #"{"id":"group1","user_ids":["user1","user2"]}"#)],
            [#"mybucket["group1"]"#]),
        RequestVector(18, group, rows: [("groups", #"{"id":"group1","user_ids":["user3"]}"#)], []),
        RequestVector(
            19, regions, token: #"{"sub":"u","parameters":{"region_names":["colorado","texas"]}}"#,
            rows: [
                ("regions", #"{"id":"r1","name":"colorado"}"#), ("regions", #"{"id":"r2","name":"ohio"}"#),
                ("regions", #"{"id":"r3","name":"texas"}"#),
            ], [#"mybucket["r1"]"#, #"mybucket["r3"]"#]),
        RequestVector(
            20, "SELECT FROM users WHERE token_parameters.some_param",
            token: #"{"sub":"u","parameters":{"some_param":123}}"#, rows: [("users", #"{"id":"u"}"#)],
            ["mybucket[]"]),
        RequestVector(
            20, "SELECT FROM users WHERE token_parameters.some_param", rows: [("users", #"{"id":"u"}"#)], []),
        RequestVector(
            23, userAndAdmin, token: #"{"sub":"user1","parameters":{"is_admin":true}}"#,
            rows: [("users", #"{"id":"user1"}"#)], [#"mybucket["user1",1]"#]),
        RequestVector(
            24, either, token: #"{"sub":"test"}"#,
            rows: [
                ("users", #"{"id":"a","filter_param1":"TEST"}"#),
                ("users", #"{"id":"b","filter_param2":"TEST"}"#), ("users", #"{"id":"c"}"#),
            ], [#"mybucket["a"]"#, #"mybucket["b"]"#]),
        RequestVector(
            36, todos, connection: #"{"lists":["list1","list2"]}"#,
            rows: [
                ("todos", #"{"id":"todo1","list_id":"list1"}"#),
                ("todos", #"{"id":"todo2","list_id":"list1"}"#),
            ], [#"mybucket["todo1"]"#, #"mybucket["todo2"]"#]),
        RequestVector(
            39, membership,
            rows: [
                ("memberships", #"{"org_id":"\#(org)","user_id":"user1","active":1}"#),
                ("memberships", #"{"org_id":"o2","user_id":"user1","active":0}"#),
            ], [#"mybucket["\#(org)"]"#]),
    ]

    @Test(arguments: requestVectors.indices) func requests(_ index: Int) throws {
        let vector = Self.requestVectors[index]
        let rig = try DefinitionRig(DefinitionRig.yaml([vector.parameters], [], config: vector.config))
        let found = try rig.buckets(token: vector.token, connection: vector.connection, vector.rows)
        #expect(found.names == vector.expected, "L\(vector.number)")
    }

    /// Parameter queries, a row with the keys that it is found by, and a request with those that it asks for.
    private static let keyVectors: [(Int, String, String, [[ScalarValue]], String, [[ScalarValue]])] = [
        (
            3, userIsAdmin, #"{"id":"user1","is_admin":1}"#, [[text("user1")]], #"{"sub":"user1"}"#,
            [[text("user1")]]
        ),
        (
            20, "SELECT FROM users WHERE token_parameters.some_param", #"{"id":"u"}"#, [[.integer(1)]],
            #"{"sub":"u"}"#, [[.integer(0)]]
        ),
        (
            21,
            "SELECT FROM users WHERE users.id = token_parameters.user_id AND "
                + "token_parameters.some_param IS NULL",
            #"{"id":"user1"}"#, [[text("user1"), .integer(1)]],
            #"{"sub":"user1","parameters":{"some_param":123}}"#, [[text("user1"), .integer(0)]]
        ),
        (
            22, "SELECT id from users WHERE filter_param = token_parameters.some_param + 2",
            #"{"id":"u","filter_param":5}"#, [[.integer(5)]],
            #"{"sub":"u","parameters":{"some_param":3}}"#, [[.integer(5)]]
        ),
        (
            24, either, #"{"id":"u","filter_param1":"test1","filter_param2":"test2"}"#,
            [[text("test1")], [text("test2")]], #"{"sub":"test"}"#, [[text("TEST")], [text("TEST")]]
        ),
    ]

    private static func text(_ text: String) -> ScalarValue { ScalarValue(text: text) }

    @Test(arguments: keyVectors.indices) func keys(_ index: Int) throws {
        let (number, query, row, stored, token, asked) = Self.keyVectors[index]
        let rig = try DefinitionRig(DefinitionRig.yaml([query], []))
        let reads = try rig.lookups([("users", row)]).keys.sorted { $0.lookup < $1.lookup }
        #expect(reads.map(\.key) == stored, "L\(number)")
        #expect(try rig.buckets(token: token).asked.map(\.key) == asked, "L\(number)")
    }

    @Test func vector6SidesOfAnOrHaveTheSameParameters() {
        let query =
            "SELECT id FROM assets WHERE assets.x = bucket.foo AND "
            + "(assets.user_id = bucket.foo OR assets.other_id = bucket.bar)"
        let parameters = "SELECT token_parameters.a AS foo, token_parameters.b AS bar"
        let found = SyncConfig.compile(DefinitionRig.yaml([parameters], [query])).diagnostics.all
        #expect(found.map(\.name) == [.orDiffers])
    }

    @Test func vector15TablesAreNamedWithSchemaAndTag() throws {
        var options = CompileOptions()
        options.defaultSchema = ExactText("test_schema")
        let tables = [
            #""assets""#, #""test_schema"."assets""#, #""default.test_schema"."assets""#,
            #""other"."assets""#, #""other.test_schema"."assets""#,
        ]
        let data = tables.enumerated().map { "SELECT id, \($0.offset) AS n FROM \($0.element)" }
        let rig = try DefinitionRig(DefinitionRig.yaml(nil, data), options: options)
        let places = try rig.places(#"{"id":"a"}"#, in: "assets", schema: "test_schema")
        #expect(places == (0..<3).map { #"mybucket[] assets a {"id":"a","n":\#($0)}"# })
    }

    @Test func vector17PriorityIsThatOfTheDefinitionOrTheQuery() throws {
        let yaml =
            "bucket_definitions:\n  highprio:\n    parameters: SELECT 0 as _priority;\n    data: []\n"
            + "  second:\n    priority: 1\n    data: []\n  other:\n    data: []\n"
        var rig = try RequestRig(try DefinitionRig(yaml).plan)
        #expect(
            try rig.resolve().lines == ["highprio[] 0 default", "second[] 1 default", "other[] 3 default"])
        let both =
            "bucket_definitions:\n  b:\n    priority: 0\n    parameters: SELECT 0 as _priority;\n"
            + "    data: []\n"
        #expect(
            SyncConfig.compile(both).diagnostics.all.map(\.message)
                == ["Cannot set priority multiple times."])
    }

    @Test func vector34NamesWithoutQuotesAreFolded() throws {
        let query = "SELECT users.userId AS user_id FROM users WHERE users.userId = token_parameters.user_id"
        let yaml = DefinitionRig.yaml([query], [])
        let warning = "Unquoted identifiers are converted to lower-case. Use \"userId\" instead."
        #expect(SyncConfig.compile(yaml).diagnostics.all.map(\.message) == [warning, warning])
        let found = try DefinitionRig(yaml).buckets([("users", #"{"userid":"user1"}"#)])
        #expect(found.names == [#"mybucket["user1"]"#])
    }

    @Test func everyNumberHasAnExpectation() throws {
        let tested = Set(
            Self.rowVectors.map(\.number) + Self.requestVectors.map(\.number) + Self.keyVectors.map(\.0)
                + [6, 15, 17, 34])
        let numbers = try Repository.vectorNumbers("L")
        #expect(tested == numbers && numbers.count == 40)
    }
}
