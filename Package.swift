// swift-tools-version: 6.2

import PackageDescription

let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]
let strictC: [CSetting] = [.enableWarning("all"), .enableWarning("extra"), .treatAllWarnings(as: .error)]

/// A C library of the system behind one header.
func system(_ name: String, _ path: String, pkgConfig: String? = nil, apt: String, brew: String) -> Target {
    .systemLibrary(
        name: name, path: path, pkgConfig: pkgConfig, providers: [.apt([apt]), .brew([brew])])
}

/// A Swift target in its own folder; names are written without the prefix that every target carries.
func library(_ name: String, _ path: String, _ dependencies: [String] = [], exclude: [String] = []) -> Target
{
    .target(
        name: full(name), dependencies: dependencies.map { .target(name: full($0)) }, path: path,
        exclude: exclude, swiftSettings: strict)
}

func command(_ name: String, _ path: String, _ dependencies: [String], exclude: [String] = []) -> Target {
    .executableTarget(
        name: full(name), dependencies: dependencies.map { .target(name: full($0)) }, path: path,
        exclude: exclude, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [String], resources: [Resource] = [], exclude: [String] = [])
    -> Target
{
    .testTarget(
        name: full(name) + "Tests",
        dependencies: (dependencies + ["TestSupport"]).map { .target(name: full($0)) },
        path: "Tests/\(name)Tests", exclude: exclude, resources: resources, swiftSettings: strict)
}

/// Every target has PowerSync in its name, because SwiftPM refuses two targets of one name in an app.
func full(_ name: String) -> String {
    if name == "Client" { return "PowerSync" }
    return name.hasPrefix("C:") ? "CPowerSync\(name.dropFirst(2))" : "PowerSync\(name)"
}

let targets: [Target] = [
    // Types of the protocol.
    library("Wire", "Wire"),

    // Platform: thin Swift over system libraries.
    .target(
        name: "CPowerSyncSystem", path: "Platform/System/C", publicHeadersPath: "include", cSettings: strictC),
    system(
        "CPowerSyncSQLite", "Platform/SQLite/C", pkgConfig: "sqlite3", apt: "libsqlite3-dev", brew: "sqlite"),
    system("CPowerSyncPQ", "Platform/Postgres/C", pkgConfig: "libpq", apt: "libpq-dev", brew: "libpq"),
    system(
        "CPowerSyncCurl", "Platform/HTTPClient/C", pkgConfig: "libcurl", apt: "libcurl4-openssl-dev",
        brew: "curl"),
    system(
        "CPowerSyncCrypto", "Platform/Crypto/C", pkgConfig: "libcrypto", apt: "libssl-dev", brew: "openssl@3"),
    system("CPowerSyncYAML", "Platform/YAML/C", pkgConfig: "yaml-0.1", apt: "libyaml-dev", brew: "libyaml"),
    system("CPowerSyncExpat", "Platform/XML/C", pkgConfig: "expat", apt: "libexpat1-dev", brew: "expat"),
    system(
        "CPowerSyncZlib", "Platform/Compression/CZlib", pkgConfig: "zlib", apt: "zlib1g-dev", brew: "zlib"),
    system(
        "CPowerSyncZstd", "Platform/Compression/CZstd", pkgConfig: "libzstd", apt: "libzstd-dev", brew: "zstd"
    ),
    system(
        "CPowerSyncEdit", "Platform/Terminal/C", pkgConfig: "libedit", apt: "libedit-dev", brew: "libedit"),
    library("System", "Platform/System", ["C:System"], exclude: ["C"]),
    library("SQLite", "Platform/SQLite", ["C:SQLite", "System"], exclude: ["C"]),
    library("PostgresValues", "Platform/PostgresValues"),
    library("Postgres", "Platform/Postgres", ["C:PQ", "PostgresValues", "System"], exclude: ["C"]),
    library("PostgresServer", "Platform/PostgresServer", ["Postgres", "System"]),
    library("HTTP", "Platform/HTTP", ["System"]),
    library("HTTPServer", "Platform/HTTPServer", ["HTTP", "System", "C:System"]),
    library("HTTPClient", "Platform/HTTPClient", ["C:Curl", "HTTP", "System"], exclude: ["C"]),
    library("Crypto", "Platform/Crypto", ["C:Crypto"], exclude: ["C"]),
    library("YAML", "Platform/YAML", ["C:YAML"], exclude: ["C"]),
    library("XML", "Platform/XML", ["C:Expat"], exclude: ["C"]),
    library("Compression", "Platform/Compression", ["C:Zlib", "C:Zstd"], exclude: ["CZlib", "CZstd"]),
    library("CommandLine", "Platform/CommandLine", ["System"]),
    library("Terminal", "Platform/Terminal", ["C:Edit", "C:System", "System"], exclude: ["C"]),

    // Compositions.
    library(
        "Client", "Client", ["SQLite", "HTTP", "HTTPClient", "Compression", "Crypto", "System", "Wire"],
        exclude: ["Attachments/SPEC.md", "Database/LIFECYCLE.md", "Sync/SPEC.md"]),
    library("Conformance", "Conformance", ["Client", "SQLite", "Crypto", "Wire"], exclude: ["Contract"]),
    library(
        "ContractCases", "Conformance/Contract",
        ["HTTP", "HTTPClient", "YAML", "Wire", "Crypto", "Postgres", "System"]),
    library(
        "Backend", "Backend",
        [
            "HTTP", "HTTPServer", "HTTPClient", "Postgres", "Crypto", "YAML", "XML", "CommandLine", "System",
            "Wire",
        ],
        exclude: [
            "Executable", "Apply/SPEC.md", "Attachments/SPEC.md", "Authentication/SPEC.md",
            "Database/SPEC.md", "Start/SPEC.md", "Tokens/SPEC.md",
        ]),
    library("SyncRules", "MockService/SyncRules", ["YAML", "Wire"]),
    library(
        "ServiceEngine", "MockService/Engine",
        ["SyncRules", "PostgresValues", "Crypto", "SQLite", "Compression", "CommandLine", "System", "Wire"]),
    library(
        "PostgresSource", "MockService/PostgresSource",
        [
            "ServiceEngine", "SyncRules", "PostgresValues", "Postgres", "Crypto", "CommandLine", "System",
            "Wire",
        ]),
    library(
        "MockService", "MockService",
        [
            "ServiceEngine", "PostgresSource", "SyncRules", "PostgresValues", "HTTP", "HTTPServer",
            "HTTPClient", "Postgres", "Crypto", "SQLite", "YAML", "Compression", "CommandLine", "System",
            "Wire",
        ],
        exclude: ["DESIGN.md", "Engine", "Executable", "LANGUAGE.md", "PostgresSource", "SyncRules"]),
    library(
        "Stack", "Stack",
        [
            "Client", "Conformance", "Backend", "MockService", "ServiceEngine", "PostgresSource", "SyncRules",
            "Wire", "HTTP", "HTTPServer", "HTTPClient", "Postgres", "PostgresServer", "Crypto", "SQLite",
            "YAML", "Compression", "CommandLine", "Terminal", "System",
        ],
        exclude: ["Executable"]),
    command("BackendCommand", "Backend/Executable", ["Backend", "Crypto", "CommandLine"]),
    command(
        "MockServiceCommand", "MockService/Executable", ["MockService", "Crypto", "CommandLine", "System"]),
    command("StackCommand", "Stack/Executable", ["Stack", "Crypto", "CommandLine", "System"]),
    command("CrashChild", "Tests/CrashChild", ["Client", "C:SQLite"]),
    // What service and backend are measured beside.
    .target(
        name: full("C:Benchmarks"),
        dependencies: ["C:PQ", "C:Crypto", "C:SQLite"].map { .target(name: full($0)) },
        path: "Benchmarks/C", publicHeadersPath: "include", cSettings: strictC),
    command(
        "Benchmarks", "Benchmarks",
        [
            "C:Benchmarks", "Client", "SQLite", "C:SQLite", "Stack", "SyncRules", "Postgres",
            "PostgresServer", "HTTP", "HTTPServer", "HTTPClient", "Compression", "Crypto", "CommandLine",
            "System", "C:System", "Wire",
        ], exclude: ["C"]),

    // What tests share; all but the first are apart so that a test of a small part builds little.
    library("TestSupport", "Tests/TestSupport", ["System"]),
    library(
        "PostgresTestSupport", "Tests/PostgresTestSupport",
        ["TestSupport", "Postgres", "PostgresServer", "System"]),
    library("HTTPTestSupport", "Tests/HTTPTestSupport", ["TestSupport", "HTTP", "HTTPClient", "Wire"]),
    .target(
        name: full("C:LossyFiles"), dependencies: [.target(name: full("C:SQLite"))],
        path: "Tests/LossyFiles", publicHeadersPath: "include", cSettings: strictC),

    // Code as apps of the official SDK are written, which sees the client alone and has the settings of an app: what is
    // deprecated there may be used.
    .target(
        name: full("SourceCompatibility"), dependencies: [.target(name: full("Client"))],
        path: "Tests/SourceCompatibility",
        swiftSettings: [
            .treatAllWarnings(as: .error), .treatWarning("DeprecatedDeclaration", as: .warning),
        ]),

    // Tests, one target per target.
    tests("Wire", ["Wire"]),
    tests("System", ["System", "C:System"]),
    tests("SQLite", ["SQLite", "System"]),
    tests("Postgres", ["Postgres", "PostgresValues", "PostgresServer", "PostgresTestSupport", "System"]),
    tests(
        "PostgresServer", ["PostgresServer", "PostgresTestSupport", "Postgres", "PostgresValues", "System"]),
    tests("HTTP", ["HTTP"]),
    tests("HTTPServer", ["HTTPServer", "HTTP", "System"]),
    tests("HTTPClient", ["HTTPClient", "C:Curl", "HTTP", "System"]),
    tests("Crypto", ["Crypto"]),
    tests("YAML", ["YAML"]),
    tests("XML", ["XML"]),
    tests("Compression", ["Compression"]),
    tests("CommandLine", ["CommandLine", "System"]),
    tests("Terminal", ["Terminal", "System"]),
    tests(
        "Client",
        [
            "Client", "Conformance", "CrashChild", "SQLite", "C:SQLite", "HTTP", "HTTPServer", "HTTPClient",
            "Compression", "Crypto", "System", "Wire",
        ]),
    tests("Conformance", ["Conformance", "Wire"]),
    tests(
        "SourceCompatibility",
        [
            "SourceCompatibility", "StackCommand", "Client", "Stack", "HTTPTestSupport", "Postgres",
            "PostgresServer", "PostgresTestSupport", "System", "Wire",
        ]),
    tests(
        "Backend",
        [
            "Backend", "BackendCommand", "ContractCases", "HTTP", "HTTPServer", "HTTPClient",
            "HTTPTestSupport", "Postgres", "PostgresServer", "PostgresTestSupport", "Crypto", "YAML", "XML",
            "CommandLine", "System", "Wire",
        ]),
    tests("SyncRules", ["SyncRules", "YAML", "Wire", "System"]),
    tests(
        "MockService",
        [
            "MockService", "ServiceEngine", "PostgresSource", "PostgresValues", "SyncRules", "HTTP",
            "HTTPServer", "HTTPClient", "HTTPTestSupport", "Postgres", "PostgresServer",
            "PostgresTestSupport", "Crypto", "SQLite", "YAML", "Compression", "CommandLine", "System", "Wire",
            "C:LossyFiles",
        ]),
    tests(
        "Stack",
        [
            "Stack", "StackCommand", "Client", "Conformance", "CommandLine", "Crypto", "HTTP", "HTTPClient",
            "MockService", "ServiceEngine", "PostgresValues", "Postgres", "PostgresServer", "SQLite",
            "SyncRules", "System", "Terminal", "Wire", "YAML",
        ]),
    tests(
        "Benchmarks",
        [
            "Benchmarks", "BackendCommand", "MockServiceCommand", "Stack", "SQLite", "HTTP", "HTTPClient",
            "Postgres", "PostgresServer", "PostgresTestSupport", "Compression", "Crypto", "CommandLine",
            "System", "Wire",
        ]),
    tests(
        "EndToEnd",
        [
            "StackCommand", "BackendCommand", "MockServiceCommand", "Client", "Stack", "Backend",
            "MockService", "HTTP", "HTTPClient", "HTTPServer", "HTTPTestSupport", "Postgres",
            "PostgresServer", "PostgresTestSupport", "CommandLine", "Crypto", "SQLite", "System", "Wire",
            "YAML",
        ]),
]

// libFuzzer brings its own main, so the target that it drives is there for `Scripts/fuzz.sh` alone.
let isFuzzing = Context.environment["POWERSYNC_FUZZ"] == "1"
let fuzzing = command(
    "Fuzzing", "Tests/Fuzzing",
    [
        "Wire", "Postgres", "HTTP", "Crypto", "SQLite", "YAML", "SyncRules", "MockService", "ServiceEngine",
        "PostgresSource", "PostgresValues", "Backend", "System",
    ])

// A debug build of everything takes minutes. `POWERSYNC_ONLY=SQLite swift test` builds that part, its tests
// and what they stand on; several parts are separated by commas.
var chosen = targets
if let only = isFuzzing ? "Fuzzing" : Context.environment["POWERSYNC_ONLY"], !only.isEmpty {
    let known = targets + (isFuzzing ? [fuzzing] : [])
    let byName = Dictionary(uniqueKeysWithValues: known.map { ($0.name, $0) })
    var wanted: Set<String> = []
    func want(_ name: String) {
        guard let target = byName[name], wanted.insert(name).inserted else { return }
        for case .targetItem(let dependency, _) in target.dependencies { want(dependency) }
    }
    for name in only.split(separator: ",").map(String.init) {
        want(full(name))
        want(full(name) + "Tests")
    }
    chosen = known.filter { wanted.contains($0.name) }
}

let products: [(product: Product, target: String)] = [
    (.library(name: "PowerSync", targets: ["PowerSync"]), "PowerSync"),
    (.library(name: "PowerSyncDynamic", type: .dynamic, targets: ["PowerSync"]), "PowerSync"),
    (.executable(name: "powersync-stack", targets: ["PowerSyncStackCommand"]), "PowerSyncStackCommand"),
    (.executable(name: "powersync-backend", targets: ["PowerSyncBackendCommand"]), "PowerSyncBackendCommand"),
    (
        .executable(name: "powersync-mock-service", targets: ["PowerSyncMockServiceCommand"]),
        "PowerSyncMockServiceCommand"
    ),
]

let package = Package(
    name: "powersync",
    // macOS 15 is the first with `TaskExecutor`. Not iOS: its SDK has neither libzstd nor libcurl, which parts below the
    // client link, although URLSession would carry its requests there.
    platforms: [.macOS(.v15)],
    products: products.filter { entry in chosen.contains { $0.name == entry.target } }.map(\.product),
    targets: chosen,
    swiftLanguageModes: [.v6]
)
