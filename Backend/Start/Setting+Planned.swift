extension Setting {
    /// The settings of Backend/DESIGN.md that are read, or will be, and do nothing yet: whoever makes one do something moves it
    /// to the others, and help tells it.
    package static let planned: [Setting] = signIn + rightsAndLinks

    private static let signIn: [Setting] = [
        Setting(
            "AUTH_JWKS_URI",
            help: "Where the public keys of your provider are: its tokens mint and upload."),
        Setting("AUTH_JWKS_URI_OVERRIDE", help: "Where they are fetched in its place."),
        Setting(
            "AUTH_PROVIDER", .choice(["oidc", "supabase"]), standard: "oidc",
            help:
                "oidc, or supabase: then AUTH_SUPABASE_URL, the URL of the project, says where its keys are, who makes its "
                + "tokens and whom they are for."),
        Setting("AUTH_SUPABASE_URL"),
        Setting("AUTH_ISSUER", help: "Who makes the provider's tokens, the claim iss."),
        Setting(
            "AUTH_AUDIENCE", .list,
            help: "Whom they are for, separated by commas, the claim aud; AUTH_INSTANCE_URL in its place."),
        Setting("AUTH_INSTANCE_URL"),
        Setting(
            "AUTH_ALGORITHMS", .list, standard: "RS256,RS384,RS512,ES256,ES384,ES512,EdDSA",
            help: "How they may be signed; no shared secrets."),
        Setting(
            "AUTH_SUBJECT_CLAIM", standard: "sub", help: "The claim that names the user; sub by default."),
        Setting(
            "AUTH_PARAMETER_CLAIMS", .list,
            help: "Claims that become parameters of the tokens of this backend, separated by commas."),
        Setting(
            "AUTH_ALLOW_LOCAL_HTTP", .flag, standard: "false",
            help: "Fetch keys without TLS from this machine, and from nobody else."),
        Setting(
            "AUTH_ALLOW_INSECURE_HTTP_HOSTS", .list,
            help: "Hosts from which keys may be fetched without TLS. Development alone."),
        Setting(
            "SESSION_SECRET", isSecret: true,
            help:
                "The secret of your session tokens (HS256), of 32 bytes or more, taken as it stands, with the issuer and "
                + "the audiences that they must name."),
        Setting("SESSION_ISSUER"), Setting("SESSION_AUDIENCE", .list),
        Setting(
            "SESSION_COOKIE",
            help: "The cookie that has the session token, for web pages of CORS_ORIGINS."),
        Setting(
            "TRUSTED_PROXIES", .list,
            help: "Addresses and ranges of your proxies, such as 10.0.0.0/8: they say whose a request is."),
        Setting(
            "TRUSTED_USER_HEADER",
            help: "The field in which they say who has signed in. They must remove what clients send in it."),
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
            "TOKENS_PER_MINUTE", .number, standard: "600",
            help:
                "How many tokens a user is given a minute, and how many wrong ones an address may show; 600 and 20 by "
                + "default, 0 sets no limit."),
        Setting("FAILED_CREDENTIALS_PER_MINUTE", .number, standard: "20"),
        Setting(
            "PREPARED", .choice(["on", "off"]), standard: "on",
            help: "off for a pooler in transaction mode, such as PgBouncer."),
        Setting(
            "DATABASE_TLS_INSECURE", .flag, standard: "false",
            help: "Allow a sslmode below verify-full to another machine."),
    ]
}
