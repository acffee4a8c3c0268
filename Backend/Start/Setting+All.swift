import PowerSyncCommandLine

extension Setting {
    /// Every setting.
    package static let all: [Setting] = [
        database, rights, keys, tokens, signIn, uploads, attachments, operation,
    ].flatMap { $0 }

    private static let database: [Setting] = [
        Setting("DATABASE_URI", isSecret: true, help: "The Postgres that uploads are written to."),
        Setting(
            "DATABASE_HOST",
            help: "Instead of DATABASE_URI: its parts, of which the host and the name must be there."),
        Setting("DATABASE_PORT", .number), Setting("DATABASE_NAME"), Setting("DATABASE_USER"),
        Setting("DATABASE_PASSWORD", isSecret: true),
        Setting(
            "DATABASE_TYPE", .choice(["postgres"]), standard: "postgres",
            help: "postgres, for environments that say so; nothing else is there."),
        Setting(
            "DATABASE_TLS_INSECURE", .flag, standard: "false",
            help:
                "Allow a sslmode below verify-full to another machine. Without a sslmode it is verify-full, by sslrootcert "
                + "or the authorities of the system (SSL_CERT_FILE)."),
        Setting(
            "PREPARED", .choice(["on", "off"]), standard: "on",
            help:
                "off for a pooler in transaction mode, such as PgBouncer: no prepared statements, and no settings of a "
                + "session."),
        Setting("POWERSYNC_URL", help: "Where clients find the sync service."),
        Setting("PSB_TABLE_MAP", help: "The YAML file of tables that clients may write."),
        Setting(
            "DEV_OPEN_SCHEMA", .flag, standard: "false",
            help: "Without a table map: open every published table. Development alone."),
    ]

    private static let rights: [Setting] = [
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
    ]

    private static let keys: [Setting] = [
        Setting(
            "JWT_KEYS_DIR",
            help:
                "The folder of signing keys (*.jwk, *.json, *.pem, *.der); a first key is made there. What changes in it is "
                + "noticed, and the command keys changes it."),
        Setting("JWT_KEYS_SQL", help: "Is refused: keys are in JWT_KEYS_DIR, and in no database."),
        Setting(
            "POWERSYNC_PRIVATE_KEY", isSecret: true,
            help:
                "Instead: the signing key, a JWK, base64 of one, PEM, or base64 of DER; the second name is that of .NET "
                + "programs."),
        Setting("POWERSYNC_PRIVATEKEY", isSecret: true),
        Setting(
            "POWERSYNC_PUBLIC_KEY", isSecret: true,
            help:
                "With it: public keys that verify and are published besides, the next or the former one, in the same "
                + "spellings or as a JWK set."),
        Setting("POWERSYNC_PUBLICKEY", isSecret: true),
        Setting(
            "DEV_EPHEMERAL_KEYS", .flag, standard: "false",
            help: "Instead: a key of this run alone. Development alone."),
    ]

    private static let tokens: [Setting] = [
        Setting(
            "JWT_AUDIENCE", .list,
            help: "Whom tokens are for, separated by commas; POWERSYNC_URL by default."),
        Setting("JWT_ISSUER", help: "Who makes the tokens; checked in uploads too."),
        Setting(
            "JWT_TTL", .duration, standard: "10m",
            help: "How long a token lives, 60s to 24h; 10m by default."),
        Setting(
            "DEV_TOKENS", .flag, standard: "false",
            help: "Give whoever asks a token of any user, by ?user_id=. Development alone."),
        Setting(
            "DEV_OPEN_UPLOADS", .flag, standard: "false",
            help:
                "Take an upload without a token as one of DEV_USER, as demo apps send it. Development alone."),
        Setting(
            "DEV_HOSTS", .list,
            help:
                "With DEV_TOKENS or DEV_OPEN_UPLOADS: names by which requests may call the backend, separated by commas, "
                + "beside localhost, addresses, and the hosts of POWERSYNC_URL and CORS_ORIGINS. Any other is answered 403, "
                + "for a page of anywhere can have its own name lead here."),
        Setting(
            "DEV_PUBLIC", .flag, standard: "false",
            help:
                "Let other machines reach what is for development; without it HOST must be an address of this one. "
                + "Development alone."),
        Setting(
            "DEV_USER", standard: "dev-user",
            help:
                "The user of a development token asked for without one, and of open uploads; dev-user by default."
        ),
        Setting(
            "UPLOAD_ACCEPTS_SYNC_TOKEN", .flag, inProduction: "false",
            help:
                "Whether tokens for the sync service may upload; false by default, in development what DEV_TOKENS says."
        ),
        Setting(
            "UPLOAD_AUDIENCE", .list,
            help:
                "Audiences of tokens that may upload besides, made elsewhere with a key of this backend; none of "
                + "JWT_AUDIENCE."),
    ]

    private static let signIn: [Setting] = [
        Setting(
            "AUTH_JWKS_URI",
            help: "Where the public keys of your provider are: who shows a token of it gets one of ours."),
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
            "TOKENS_PER_MINUTE", .number, standard: "600",
            help:
                "How many tokens a user is given a minute, and how many wrong ones an address may show; 600 and 20 by "
                + "default, 0 sets no limit."),
        Setting("FAILED_CREDENTIALS_PER_MINUTE", .number, standard: "20"),
    ]

    private static let uploads: [Setting] = [
        Setting(
            "HOST", standard: "127.0.0.1", inProduction: "0.0.0.0",
            help:
                "The address to listen on, and the port; 0.0.0.0 by default, in development 127.0.0.1, and 6060."
        ),
        Setting("PORT", .number, standard: "6060"),
        Setting(
            "BATCH_ON_FATAL_ERROR", .choice(["stop", "skip"]), standard: "stop",
            help: "stop or skip: what happens behind a rejected transaction."),
        Setting(
            "LEGACY_BATCH_MODE", .choice(["atomic", "isolate"]), standard: "atomic",
            help: "atomic or isolate: refuse a bad batch whole, or cut out what is bad."),
        Setting(
            "CHECKPOINT_MODE", .choice(["managed", "custom"]), standard: "managed",
            help: "managed or custom: whether the routes of custom checkpoints are there."),
        Setting(
            "CORS_ORIGINS", .list,
            help: "Web pages that may call, separated by commas; none by default, with DEV_TOKENS those of "
                + "http://localhost and http://127.0.0.1 on any port."),
        Setting(
            "MAX_BODY_BYTES", .number, standard: "16777216",
            help: "The most bytes of a body; 16 MiB by default."),
        Setting(
            "UPLOAD_MEMORY_BYTES", .number, standard: "268435456",
            help:
                "About the most memory of all uploads in work, a quarter of it for their bodies, which is at least "
                + "MAX_BODY_BYTES; 256 MiB by default. What comes beyond waits; who has waited 20 s in all, for a place, "
                + "a turn and memory, is answered 503."),
        Setting(
            "BODY_TIMEOUT", .duration, standard: "30s",
            help:
                "How long a body may take to arrive, and how slow its link may be: it has this time and that of its "
                + "bytes at this pace; 30s and 65536 by default. One that cannot end in time is answered 408 early. "
                + "Downloads of a file:// store whose client is slower than this pace are cut, too."
        ),
        Setting("BODY_BYTES_PER_SECOND", .number, standard: "65536"),
        Setting(
            "UPLOADS_PER_USER", .number, standard: "1",
            help:
                "How many uploads of a user are in work at a time, and how many more arrive and wait before the next is "
                + "answered 429; 1 and 64 by default."),
        Setting("UPLOADS_WAITING_PER_USER", .number, standard: "64"),
        Setting(
            "DEAD_LETTER_ROWS", .number, standard: "10000",
            help:
                "How many refused uploads of a user are kept, and their bytes, before all uploads of this user are "
                + "answered 429; 10000 and 100000000 by default. letters list says which there are."),
        Setting("DEAD_LETTER_BYTES", .number, standard: "100000000"),
        Setting(
            "DEAD_LETTER_RETENTION", .duration, standard: "30d",
            help: "How long refused uploads are kept; 30d by default."),
    ]

    private static let attachments: [Setting] = [
        Setting(
            "ATTACHMENTS_STORE",
            help:
                "Where attachments are kept: file:///FOLDER, which this backend serves by signed URLs, or "
                + "s3://BUCKET/PREFIX?endpoint=https://…&region=…&style=path (or virtual); none by default, and no routes for "
                + "them. The table map names the columns that hold their ids."),
        Setting(
            ObjectStoreConfiguration.accessKeyVariable, isSecret: true,
            help: "The credentials of an s3 store; the token if they are temporary."),
        Setting(ObjectStoreConfiguration.secretKeyVariable, isSecret: true),
        Setting(ObjectStoreConfiguration.sessionTokenVariable, isSecret: true),
        Setting(
            "ATTACHMENTS_PUBLIC_URL",
            help:
                "Where devices reach this backend, for the URLs of a file store. In production it must be given, in "
                + "development it is http://127.0.0.1:PORT by default."),
        Setting(
            "ATTACHMENTS_MAX_BYTES", .number, standard: "5368709120",
            help:
                "The most bytes of a file (413), and of all files of a user, and how many of these there may be (429); "
                + "5 GiB, 10 GiB and 100000 by default."),
        Setting("ATTACHMENTS_QUOTA_BYTES", .number, standard: "10737418240"),
        Setting("ATTACHMENTS_QUOTA_FILES", .number, standard: "100000"),
        Setting(
            "ATTACHMENTS_TYPES", .list,
            help:
                "The media types that are taken, separated by commas, such as image/*,application/pdf; any by default."
        ),
    ]

    private static let operation: [Setting] = [
        Setting(
            "POOL_SIZE", .number, standard: "8",
            help:
                "The most connections to the database, 8 by default; two more ask whether it answers, and listen."
        ),
        Setting(
            "STATEMENT_TIMEOUT_MS", .number, standard: "10000", help: OperatorSession.times.help),
        Setting("LOCK_TIMEOUT_MS", .number, standard: "3000"),
        Setting("MIGRATION_TIMEOUT", .duration, standard: "10m", help: MigrateCommand.timeout.help),
        Setting(
            "SCHEMA_DRIFT_GRACE", .duration, standard: "10m",
            help: "How long uploads that name a table or column that is gone are answered 503, as during a "
                + "migration, before they are rejected; 10m by default."),
        Setting(
            "DRAIN_DELAY", .duration, standard: "0", inProduction: "5s",
            help:
                "How long the backend says that it leaves before it does, 10s at most: of the 28 s that a stop takes at "
                + "most, 24 are for this and for requests in work."),
        Setting(
            "METRICS_PORT", .number,
            help: "The port of /metrics, none by default, and its address, 127.0.0.1 by default."),
        Setting("METRICS_HOST", standard: "127.0.0.1"),
        Setting(
            "ENV", .choice(["development", "production"]), standard: "production",
            help:
                "development or production; production by default, which refuses everything that is for development."
        ),
        Setting(
            "LOG_LEVEL", .choice(["trace", "debug", "info", "warning", "error"]), standard: "info",
            help: "trace to error; text or json."),
        Setting("LOG_FORMAT", .choice(["text", "json"]), standard: "text"),
    ]
}
