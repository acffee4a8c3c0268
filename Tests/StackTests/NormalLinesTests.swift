import PowerSyncStack
import PowerSyncWire
import Testing

@Suite struct NormalLinesTests {
    private func difference(_ recorded: [String], _ received: [String], withTokens: Bool = false) throws
        -> String?
    {
        NormalLines.difference(
            recorded: NormalLines.texts(try recorded.map { try JSON.parse($0) }, withTokens: withTokens),
            received: NormalLines.texts(try received.map { try JSON.parse($0) }, withTokens: withTokens))
    }

    private static func data(
        _ bucket: String = "1#a[]", opID: Int = 1, op: String = "PUT", checksum: String = "5",
        subkey: String = "x/765c0639-10fb-5118-b1a7-ef34ed6cfd46", data: String = #""{}""#
    ) -> String {
        #"{"data":{"bucket":"\#(bucket)","after":"\#(opID - 1)","has_more":false,"data":[{"op_id":"\#(opID)","op":"\#(op)","#
            + #""object_type":"t","object_id":"i","checksum":\#(checksum),"subkey":"\#(subkey)","data":\#(data)}],"#
            + #""next_after":"\#(opID)"}}"#
    }

    private static let complete = #"{"checkpoint_complete":{"last_op_id":"1"}}"#

    @Test func whatDiffersByNatureIsNoDifference() throws {
        let same = [
            Self.data("2#a[]", opID: 7, checksum: "5.0", subkey: "y/765c0639-10fb-5118-b1a7-ef34ed6cfd46"),
            #"{"token_expires_in":20}"#, #"{"checkpoint_complete":{"last_op_id":"7"}}"#,
        ]
        #expect(try difference([Self.data(), Self.complete], same) == nil)
        // Of a REMOVE the checksum holds the id of the source table.
        #expect(
            try difference(
                [Self.data(op: "REMOVE", data: "null")],
                [Self.data(op: "REMOVE", checksum: "9", data: "null")])
                == nil)
        // Version 4 is random.
        #expect(
            try difference(
                [Self.data(subkey: "x/765c0639-10fb-4118-b1a7-ef34ed6cfd46")],
                [Self.data(subkey: "x/00000000-10fb-4118-b1a7-ef34ed6cfd46")]) == nil)
    }

    @Test func anExtraLineIsNoticed() throws {
        #expect(
            try difference([Self.data()], [Self.data(), Self.complete])
                == "line 1 differs:\n    - no more line\n    + {\"checkpoint_complete\":{\"last_op_id\":\"n\"}}"
        )
        #expect(try difference([Self.data(), Self.complete], [Self.data()]) != nil)
    }

    @Test(arguments: [
        data("1#b[]"), data(checksum: "6"), data(data: #""{ }""#), data(op: "MOVE"),
        data(subkey: "x/00000000-10fb-5118-b1a7-ef34ed6cfd46"), data(data: "{}"),
        data().replacing(#""after":"0""#, with: #""after":0"#),
        data().replacing(#""next_after":"1""#, with: #""next_after":null"#),
        data().replacing(#""has_more":false,"#, with: ""),
    ])
    func anotherOperationIsNoticed(line: String) throws {
        #expect(try difference([Self.data()], [line]) != nil)
    }

    @Test func anotherSpellingOfAnAccentIsNoticed() throws {
        let lines = [Self.data(data: "\"\u{E9}\""), Self.data(data: "\"e\u{301}\"")]
        #expect(try difference([lines[0]], [lines[0]]) == nil)
        #expect(try difference([lines[0]], [lines[1]]) != nil)
    }

    @Test func theOrderOfBucketsDoesNotCountAndThatWithinOneDoes() throws {
        let (a, b) = (Self.data("1#a[]"), Self.data("1#b[]"))
        #expect(try difference([a, b, Self.complete], [b, a, Self.complete]) == nil)
        #expect(try difference([a, Self.complete, b], [b, Self.complete, a]) != nil)
        let later = Self.data(opID: 2, data: #""later""#)
        #expect(try difference([a, later], [later, a]) != nil)
    }

    @Test func tokensCountWhereAsked() throws {
        let token = #"{"token_expires_in":20}"#
        #expect(try difference([], [token]) == nil)
        #expect(try difference([], [token], withTokens: true) != nil)
    }
}
