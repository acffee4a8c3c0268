await CrashChild.main()
