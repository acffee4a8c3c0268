extension Setting {
    /// The settings of Backend/DESIGN.md that are read, or will be, and do nothing yet: whoever makes one do something moves it
    /// to the others, and help tells it.
    package static let planned: [Setting] = development + links

    private static let development: [Setting] = [
        Setting(
            "DEV_PUBLIC", .flag, standard: "false",
            help: "Let other machines reach what is for development. Development alone."),
    ]

    private static let links: [Setting] = [
        Setting(
            "METRICS_PORT", .number,
            help: "The port of /metrics, none by default, and its address, 127.0.0.1 by default."),
        Setting("METRICS_HOST", standard: "127.0.0.1"),
    ]
}
