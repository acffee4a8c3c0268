import Testing

/// A line with every field that it can have, and what each of them takes.
struct LineFixture: CustomTestStringConvertible {
    let name: String
    let tree: LineNode
    let fields: [(path: String, field: LineField)]

    var testDescription: String { name }

    private static let bucket = LineNode.object([
        ("bucket", .text("b\"")), ("checksum", .integer(1)), ("count", .integer(2)),
        ("priority", .integer(3)),
        ("subscriptions", .array([.object([("default", .integer(0))]), .object([("sub", .integer(1))])])),
    ])

    private static func bucketFields(_ list: String) -> [(path: String, field: LineField)] {
        [
            (list, .list), ("\(list).0", .element), ("\(list).0.bucket", .text),
            ("\(list).0.checksum", .checksum),
            ("\(list).0.count", .count), ("\(list).0.priority", .optionalPriority),
            ("\(list).0.subscriptions", .nullableList), ("\(list).0.subscriptions.0", .element),
            ("\(list).0.subscriptions.0.default", .index), ("\(list).0.subscriptions.1", .element),
            ("\(list).0.subscriptions.1.sub", .index),
        ]
    }

    static let checkpoint = LineFixture(
        name: "checkpoint",
        tree: .object([
            (
                "checkpoint",
                .object([
                    ("last_op_id", .text("5")), ("write_checkpoint", .text("6")),
                    ("buckets", .array([bucket])),
                    (
                        "streams",
                        .array([
                            .object([
                                ("name", .text("s")), ("is_default", .bool(true)),
                                (
                                    "errors",
                                    .array([
                                        .object([("subscription", .integer(0)), ("message", .text("m"))])
                                    ])
                                ),
                            ])
                        ])
                    ),
                ])
            )
        ]),
        fields: [
            ("checkpoint", .object), ("checkpoint.last_op_id", .decimal),
            ("checkpoint.write_checkpoint", .optionalDecimal),
        ] + bucketFields("checkpoint.buckets") + [
            ("checkpoint.streams", .optionalList), ("checkpoint.streams.0", .element),
            ("checkpoint.streams.0.name", .text), ("checkpoint.streams.0.is_default", .bool),
            ("checkpoint.streams.0.errors", .list), ("checkpoint.streams.0.errors.0", .element),
            ("checkpoint.streams.0.errors.0.subscription", .subscription),
            ("checkpoint.streams.0.errors.0.message", .text),
        ])

    static let checkpointDiff = LineFixture(
        name: "checkpoint_diff",
        tree: .object([
            (
                "checkpoint_diff",
                .object([
                    ("last_op_id", .text("5")), ("write_checkpoint", .text("6")),
                    ("removed_buckets", .array([.text("gone")])), ("updated_buckets", .array([bucket])),
                ])
            )
        ]),
        fields: [
            ("checkpoint_diff", .object), ("checkpoint_diff.last_op_id", .decimal),
            ("checkpoint_diff.write_checkpoint", .optionalDecimal),
            ("checkpoint_diff.removed_buckets", .list),
            ("checkpoint_diff.removed_buckets.0", .textElement),
        ] + bucketFields("checkpoint_diff.updated_buckets"))

    static let data = LineFixture(
        name: "data",
        tree: .object([
            (
                "data",
                .object([
                    ("bucket", .text("b")), ("after", .text("0")), ("has_more", .bool(false)),
                    (
                        "data",
                        .array([
                            .object([
                                ("op_id", .text("1")), ("op", .text("PUT")), ("object_type", .text("items")),
                                ("object_id", .text("r1")), ("checksum", .integer(1)), ("subkey", .text("s")),
                                ("data", .text("{\"id\":\"é\"}")),
                            ])
                        ])
                    ),
                    ("next_after", .text("1")),
                ])
            )
        ]),
        fields: [
            ("data", .object), ("data.bucket", .text), ("data.after", .unread), ("data.has_more", .unread),
            ("data.data", .list), ("data.data.0", .element), ("data.data.0.op_id", .decimal),
            ("data.data.0.op", .kind), ("data.data.0.object_type", .optionalText),
            ("data.data.0.object_id", .optionalText), ("data.data.0.checksum", .checksum),
            ("data.data.0.subkey", .optionalText), ("data.data.0.data", .optionalText),
            ("data.next_after", .unread),
        ])

    static let checkpointComplete = LineFixture(
        name: "checkpoint_complete",
        tree: .object([("checkpoint_complete", .object([("last_op_id", .text("1"))]))]),
        fields: [("checkpoint_complete", .anyObject), ("checkpoint_complete.last_op_id", .unread)])

    static let partialCheckpointComplete = LineFixture(
        name: "partial_checkpoint_complete",
        tree: .object([
            (
                "partial_checkpoint_complete",
                .object([("last_op_id", .text("1")), ("priority", .integer(1))])
            )
        ]),
        fields: [
            ("partial_checkpoint_complete", .object), ("partial_checkpoint_complete.last_op_id", .unread),
            ("partial_checkpoint_complete.priority", .priority),
        ])

    static let tokenExpiresIn = LineFixture(
        name: "token_expires_in", tree: .object([("token_expires_in", .integer(60))]),
        fields: [("token_expires_in", .seconds)])

    static let all = [
        checkpoint, checkpointDiff, data, checkpointComplete, partialCheckpointComplete, tokenExpiresIn,
    ]
}
