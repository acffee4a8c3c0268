extension Setting {
    /// The settings of Backend/DESIGN.md that are read, or will be, and do nothing yet: whoever makes one do something moves it
    /// to the others, and help tells it.
    package static let planned: [Setting] = development + rightsAndLinks

    private static let development: [Setting] = [
        Setting(
            "DEV_PUBLIC", .flag, standard: "false",
            help: "Let other machines reach what is for development. Development alone."),
    ]

    private static let rightsAndLinks: [Setting] = [
        Setting(
            "DB_ROLES", .list,
            help:
                "Roles that a transaction may take, separated by commas; the first, unless the claim that DB_ROLE_CLAIM "
                + "names says another."),
        Setting("DB_ROLE_CLAIM"),
        Setting(
            "RLS_STRICT", .flag, standard: "false",
            help:
                "Reject writes to rows that policies hide, instead of leaving them as if there were none; RLS_PROBE_ROLE is "
                + "a role that sees them."),
        Setting("RLS_PROBE_ROLE"),
        Setting(
            "PREPARED", .choice(["on", "off"]), standard: "on",
            help: "off for a pooler in transaction mode, such as PgBouncer."),
        Setting(
            "DATABASE_TLS_INSECURE", .flag, standard: "false",
            help: "Allow a sslmode below verify-full to another machine."),
        Setting(
            "METRICS_PORT", .number,
            help: "The port of /metrics, none by default, and its address, 127.0.0.1 by default."),
        Setting("METRICS_HOST", standard: "127.0.0.1"),
    ]
}
