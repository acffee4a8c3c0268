import Testing

@testable import PowerSyncBackend

struct ObjectStoreConfigurationTests {
    private static let keys = [
        "ATTACHMENTS_S3_ACCESS_KEY": "AK", "ATTACHMENTS_S3_SECRET_KEY": "canary-secret",
    ]

    private func read(
        _ url: String, _ environment: [String: String] = keys
    ) throws(BackendError) -> ObjectStoreConfiguration {
        try ObjectStoreConfiguration(url: url, environment: environment)
    }

    private func readS3(_ url: String, _ environment: [String: String] = keys) throws -> S3Configuration {
        guard case .s3(let configuration) = try read(url, environment) else {
            throw BackendError(.configuration, "no S3")
        }
        return configuration
    }

    @Test func aFolderIsADisk() throws {
        let folder = "/var/lib/powersync/attachments"
        #expect(try read("file://\(folder)", [:]) == .disk(folder: folder))
        #expect(try read("file:///a%20b/c%25//", [:]) == .disk(folder: "/a b/c%"))
    }

    @Test func aBucketAloneIsOneOfAWS() throws {
        let configuration = try readS3("s3://photos")
        #expect(
            configuration
                == S3Configuration(
                    bucket: "photos", endpoint: .init(scheme: "https", host: "s3.us-east-1.amazonaws.com"),
                    region: "us-east-1", style: .virtual,
                    credentials: .init(accessKey: "AK", secretKey: "canary-secret")))
        let other = try readS3("s3://my.photos/a/b/?region=eu-central-1&style=path")
        #expect(other.bucket == "my.photos" && other.prefix == "a/b" && other.style == .path)
        #expect(other.endpoint.host == "s3.eu-central-1.amazonaws.com" && other.region == "eu-central-1")
    }

    @Test func anEndpointIsAnotherServer() throws {
        let configuration = try readS3(
            "s3://photos?endpoint=http://127.0.0.1:9000/&region=garage",
            Self.keys.merging(["ATTACHMENTS_S3_SESSION_TOKEN": "token"]) { $1 })
        #expect(configuration.endpoint == .init(scheme: "http", host: "127.0.0.1", port: 9000))
        #expect(configuration.style == .path && configuration.region == "garage")
        #expect(configuration.credentials.sessionToken == "token")
        let encoded = try readS3("s3://photos?endpoint=https%3A%2F%2FStore.example.com&style=virtual")
        #expect(encoded.endpoint == .init(scheme: "https", host: "Store.example.com"))
        #expect(encoded.style == .virtual)
        let old = try readS3("s3://photos?endpoint=http://[::1]:80")
        #expect(old.endpoint == .init(scheme: "http", host: "[::1]", port: 80))
        #expect(try readS3("s3://photos?endpoint=http://[::1]").endpoint.port == nil)
    }

    /// Each wrong form, and what its message says beside the variable.
    private static let wrong: [(url: String, word: String)] = [
        ("", "must be file:///FOLDER or s3://BUCKET"), ("/var/lib", "must be file:///FOLDER"),
        ("https://bucket", "must be file:///FOLDER"), ("S3://bucket", "must be file:///FOLDER"),
        ("file:relative", "from the root on"), ("file://host/folder", "from the root on"),
        ("file:/folder", "from the root on"), ("file://./folder", "from the root on"),
        ("file:///", "root of the file system"), ("file:////", "root of the file system"),
        ("file:///a?b", "%3F"), ("file:///a#b", "%23"), ("file:///a%zz", "%25"), ("file:///a%00b", "%25"),
        ("s3://", "names no bucket"), ("s3:///prefix", "names no bucket"), ("s3://ab", "names no bucket"),
        ("s3://Photos", "names no bucket"), ("s3://-photos", "names no bucket"),
        ("s3://photos.", "names no bucket"), ("s3://pho_tos", "names no bucket"),
        ("s3://AK:canary-secret@photos", "must not hold keys"),
        ("s3://my.photos", "needs style=path"),
        ("s3://my.photos?endpoint=https://h&style=virtual", "needs style=path"),
        ("s3://photos/a//b", "prefix"), ("s3://photos/../b", "prefix"), ("s3://photos/a%20b", "prefix"),
        ("s3://photos?regoin=a", "knows endpoint, region and style"), ("s3://photos?=a", "knows endpoint"),
        ("s3://photos?region=a&region=b", "says region twice"),
        ("s3://photos?region=", "region that is none"),
        ("s3://photos?region=eu/1", "region that is none"), ("s3://photos?style=dns", "path and virtual"),
        ("s3://photos?endpoint=s3.example.com", "http:// or https://"),
        ("s3://photos?endpoint=ftp://h", "http:// or https://"), ("s3://photos?endpoint=https://", "host"),
        ("s3://photos?endpoint=https://h/path", "host"), ("s3://photos?endpoint=https://u:p@h", "port"),
        ("s3://photos?endpoint=https://h:0", "port"), ("s3://photos?endpoint=https://h:65536", "port"),
        ("s3://photos?endpoint=https://h:", "port"), ("s3://photos?endpoint=https://h:08", "port"),
        ("s3://photos?endpoint=https://::1", "host"),
    ]

    @Test(arguments: wrong)
    func aWrongFormIsNamed(url: String, word: String) {
        let error = #expect(throws: BackendError.self) { try read(url) }
        #expect(error?.code == .configuration)
        #expect(error?.message.hasPrefix("ATTACHMENTS_STORE ") == true)
        #expect(error?.message.contains(word) == true, "\(url): \(error?.message ?? "")")
        #expect(error?.message.contains("canary") == false)
    }

    @Test func theKeysAreNeeded() {
        for missing in Self.keys.keys {
            for value in [nil, ""] as [String?] {
                var environment = Self.keys
                environment[missing] = value
                let error = #expect(throws: BackendError.self) { try read("s3://photos", environment) }
                #expect(error?.message == "\(missing) is missing: a store at s3:// needs it")
            }
        }
    }

    @Test func whatIsShownOfItHasNoSecret() throws {
        let keys = Self.keys.merging(["ATTACHMENTS_S3_SESSION_TOKEN": "canary-token"]) { $1 }
        let configuration = try read("s3://photos", keys)
        var dumped = ""
        dump(configuration, to: &dumped)
        for text in ["\(configuration)", String(reflecting: configuration), dumped] {
            #expect(!text.contains("canary"), "\(text)")
        }
    }
}
