extension Setting {
    /// The settings of Backend/DESIGN.md that are read, or will be, and do nothing yet: whoever makes one do something moves it
    /// to the others, and help tells it.
    package static let planned: [Setting] = [
        Setting(
            "DEV_PUBLIC", .flag, standard: "false",
            help: "Let other machines reach what is for development. Development alone."),
    ]
}
