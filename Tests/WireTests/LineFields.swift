/// What a field of a line takes (client-core 5.3, 5.4).
struct LineField {
    let isRequired: Bool
    /// The types that it takes, by their samples.
    let types: Set<Sample>
    /// Values at the edges of what it takes.
    let good: [LineNode]
    /// Values of a type it takes that are out of range or not spelled right.
    let bad: [LineNode]

    /// One value of each type; a text that spells a number, a number that is not whole.
    enum Sample: String, CaseIterable {
        case null, bool, integer, decimal, text, array, object, binary, objectID

        var value: LineNode {
            switch self {
            case .null: .null
            case .bool: .bool(true)
            case .integer: .integer(7)
            case .decimal: .decimal(1.5)
            case .text: .text("7")
            case .array: .array([])
            case .object: .object([])
            case .binary: .binary(5, [1, 0, 0, 0, 0, 0x37])
            case .objectID: .binary(7, [UInt8](repeating: 1, count: 12))
            }
        }
    }

    private static func field(
        _ types: Set<Sample>, required: Bool = true, good: [LineNode] = [], bad: [LineNode] = []
    ) -> LineField {
        LineField(isRequired: required, types: types, good: good, bad: bad)
    }

    private static let undefined = LineNode.binary(6, [])
    private static let decimals: [LineNode] = ["0", "-1", "9223372036854775807", "-9223372036854775808"]
        .map { .text($0) }
    private static let noDecimals: [LineNode] = [
        "", "x", " 1", "1.0", "1e3", "9223372036854775808", "-9223372036854775809", "999999999999999999999",
    ].map { .text($0) }
    private static let unreal: [LineNode] = [.decimal(.nan), .decimal(.infinity), .decimal(-.infinity)]

    static let decimal = field([.text], good: decimals, bad: noDecimals)
    static let optionalDecimal = field(
        [.text, .null], required: false, good: decimals + [undefined], bad: noDecimals)
    static let text = field([.text], good: [.text(""), .text("é😀\"\\")])
    static let optionalText = field([.text, .null], required: false, good: [.text(""), undefined])
    static let bool = field([.bool], good: [.bool(false), .binary(8, [0x7F])])
    static let list = field([.array])
    static let optionalList = field([.array], required: false)
    static let nullableList = field([.array, .null], required: false)
    /// An object with required fields, so that an empty one is refused too.
    static let object = field([])
    /// An element of a list; without it the list is shorter.
    static let element = field([], required: false)
    static let textElement = field([.text], required: false)
    /// An object of which nothing is read.
    static let anyObject = field([.object])
    static let unread = field(Set(Sample.allCases), required: false)
    static let checksum = field(
        [.integer],
        good: [.integer(-2_147_483_648), .integer(4_294_967_295), .decimal(3_573_495_687), .decimal(-1)],
        bad: [
            .integer(-2_147_483_649), .integer(4_294_967_296), .decimal(4_294_967_296), .decimal(0.5),
            .integer(.max),
        ] + unreal)
    static let count = field(
        [.integer, .null], required: false, good: [.integer(.max), .integer(.min), .decimal(3), undefined],
        bad: [.decimal(0.5), .decimal(9_223_372_036_854_775_808)] + unreal)
    private static let noPriorities: [LineNode] = [
        .integer(-1), .integer(2_147_483_647), .integer(2_147_483_648), .integer(.min), .decimal(1),
    ]
    static let priority = field(
        [.integer], good: [.integer(0), .integer(2_147_483_646)], bad: noPriorities + unreal)
    static let optionalPriority = field(
        [.integer, .null], required: false, good: [.integer(0), .integer(2_147_483_646)],
        bad: noPriorities + unreal)
    static let index = field(
        [.integer], good: [.integer(0), .decimal(2)], bad: [.integer(-1), .decimal(0.5)])
    static let subscription = field([.integer, .text], good: [.text("default"), .decimal(2)], bad: unreal)
    static let kind = field(
        [], good: [.text("PUT"), .text("REMOVE"), .text("MOVE"), .text("CLEAR")],
        bad: [.text(""), .text("put"), .text("PUTS"), .text("UPSERT")])
    static let seconds = field(
        [.integer], good: [.integer(-2_147_483_648), .integer(0), .integer(2_147_483_647)],
        bad: [.integer(2_147_483_648), .integer(-2_147_483_649), .decimal(60)] + unreal)
}
