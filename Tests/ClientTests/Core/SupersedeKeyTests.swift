import Testing

@testable import PowerSync

struct SupersedeKeyTests {
    @Test(arguments: [
        (#"foo/bar/"baz""#, "foo/bar/baz"),
        (#"foo/bar/"nested/subkey""#, "foo/bar/nested/subkey"),
        (#"foo/bar/"escaped\"key""#, #"foo/bar/escaped"key"#),
        (#"foo/bar/"escaped\\key""#, #"foo/bar/escaped\key"#),
        (#"foo/bar/"/\\"subkey""#, #"foo/bar/"/\\subkey"#),
    ])
    func removesTheQuotesOfEarlySDKs(_ key: String, _ expected: String) {
        #expect(SupersedeKey.withoutQuotes(key) == expected)
    }

    @Test(arguments: [
        "object_type/object_id/subkey", "object_type/object_id/null", #""object"/"type"/subkey"#,
        #"object"/type/object"/id/subkey"#, #""key""#, "", "\"",
    ])
    func leavesOtherKeysAlone(_ key: String) {
        #expect(SupersedeKey.withoutQuotes(key) == nil)
    }
}
