package command

import (
	"runtime"

	"heddle/cmd/heddle/internal/option"
	"heddle/conf"
)

var version = verb{
	name: "version", title: "heddle version",
	short:   "Print the version",
	options: func() []option.Option { return nil },
	run: func(s *session, l *option.Line) error {
		if len(l.Args) > 0 {
			return s.usage()
		}
		if s.json {
			return s.printValue(map[string]string{
				"version": conf.Version, "hadoopVersion": conf.HadoopVersion, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
			})
		}
		s.print("Heddle %s\nSpeaks the protocols of Hadoop %s\nBuilt with %s for %s/%s\n", conf.Version, conf.HadoopVersion,
			runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return nil
	},
}
