import PowerSyncCrypto
import PowerSyncStack
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// The pure parts of `conformance service` beside the comparison of states and lines.
@Suite struct ServiceConformanceTests {
    @Test func bareWordsAreReadAsTexts() throws {
        let text = #"{"a":NaN,"b":[Infinity,-Infinity,-1],"c":"NaN \" Infinity \\","NaN":1}"#
        #expect(
            try RecordedJSON.parse(Array(text.utf8)).text
                == #"{"a":"NaN","b":["Infinity","-Infinity",-1],"c":"NaN \" Infinity \\","NaN":1}"#)
        #expect(throws: WireError.self) { try RecordedJSON.parse(Array(#"{"a":nan}"#.utf8)) }
    }

    @Test func aLongTextEqualsItsLengthAndDigest() throws {
        let text = String(repeating: "ä", count: 2001)
        let digest = Digest.sha256(Array(text.utf8)).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
        let recorded = try JSON.parse(#"{"$long":{"characters":2001,"sha256":"\#(digest)"}}"#)
        #expect(RecordedJSON.canonical(recorded) == RecordedJSON.canonical(.string(text)))
        #expect(RecordedJSON.canonical(recorded) != RecordedJSON.canonical(.string(text.dropLast() + "a")))
        #expect(RecordedJSON.canonical(.string("short")) == "short")
    }

    @Test func nestedDataIsComparedByValuesAndExactIntegers() throws {
        func canonical(_ text: String) throws -> String { RecordedJSON.canonical(try JSON.parse(text)) }
        #expect(try canonical(#"{"a":1e3,"b":1.50}"#) == canonical(#"{"a":1000.0,"b":1.5}"#))
        #expect(try canonical(#"{"a":9007199254740993}"#) != canonical(#"{"a":9007199254740992}"#))
        #expect(try canonical(#"{"a":1}"#) != canonical(#"{"a":1.0}"#))
    }

    @Test func bucketNamesComeApart() {
        let label = BucketLabel(#"12#todos|0["a#b"]"#)
        #expect(label.number == 12 && label.text.text == #"todos|0["a#b"]"# && label.stream == "todos")
        #expect(BucketLabel(#"mine["1#2"]"#).number == nil && BucketLabel("mine[]").stream == "mine")
    }

    @Test func theGaugeIsFoundAmongOthers() {
        let page = """
            # HELP powersync_sessions_behind Streams.
            powersync_sessions_behind_total 9
            powersync_sessions_behind{scope="otel 1"} 3
            """
        #expect(SessionsGauge.value(in: page) == 3)
        #expect(SessionsGauge.value(in: "powersync_sessions_behind 0 1700000000\n") == 0)
        #expect(SessionsGauge.value(in: "powersync_sessions_behind_total 9\n") == nil)
    }

    @Test func tokensAreSpoiledAsAsked() throws {
        func token(_ claims: String) throws -> JSONWebToken {
            try JSONWebToken(parsing: ScenarioToken.make(user: "u", claims: JSON.parse(claims), now: 100))
        }
        let key = try JSONWebKey(
            secret: Array("0123456789abcdef0123456789abcdef".utf8), algorithm: .HS256, kid: "k1")
        let plain = try token(#"{"a":[1]}"#)
        #expect(plain.isSigned(by: key, as: .HS256) && plain.header.kid == "k1")
        #expect(
            String(decoding: plain.payload, as: UTF8.self)
                == #"{"sub":"u","aud":"test","iat":100,"exp":3700,"a":[1]}"#)
        let other = try token(#"{"sub":5,"aud":null,"__ttl":-10,"__kid":null}"#)
        #expect(String(decoding: other.payload, as: UTF8.self) == #"{"iat":100,"exp":90,"sub":5}"#)
        #expect(other.header.kid == nil)
        #expect(try !token(#"{"__badsig":true}"#).isSigned(by: key, as: .HS256))
        let unsigned = try token(#"{"__alg":"none"}"#)
        #expect(unsigned.header.algorithm == "none" && unsigned.signature.isEmpty)
    }

    @Test func aListOfWhatIsMissingHasAConstructForEachName() throws {
        let list = try MissingConstructs(parsing: "# remark\n\na   the operator ||\nb joins\n")
        #expect(list.byName == ["a": "the operator ||", "b": "joins"])
        #expect(throws: StackError.self) { try MissingConstructs(parsing: "a\n") }
        #expect(throws: StackError.self) { try MissingConstructs(parsing: "a x\na y\n") }
        #expect(list.objection(to: "line 1, column 2: the operator || is not", of: "a", "refused") == nil)
        #expect(
            list.objection(to: "joins", of: "a", "refused")
                == "listed with the operator ||, but refused for another reason: joins")
        #expect(list.objection(to: "why", of: "c", "not run") == "not run, which is not listed: why")
    }

    @Test func namesOfFilesLeadNowhereElse() {
        #expect(ServiceScenario.fileName("random-1_B") == "random-1_B")
        #expect(ServiceScenario.fileName("../../a b\u{E9}") == "______a_b_")
        #expect(ServiceScenario.fileName(String(repeating: "a", count: 300)).count == 80)
    }

    @Test func theLastLineCounts() {
        var count = OutcomeCount()
        #expect(!count.isSuccess)
        count.add(.notRun("why"))
        #expect(!count.isSuccess)
        count.add(.passed(lineByLine: true))
        count.add(.passed(lineByLine: false))
        count.add(.refusedAsListed("why"))
        #expect(count.isSuccess)
        #expect(
            count.summary == "2 passed (1 of them line by line too), 0 failed, 1 refused as listed, 1 not run"
        )
        count.add(.failed(["x"]))
        #expect(!count.isSuccess && count.summary.contains("1 failed"))
    }
}
