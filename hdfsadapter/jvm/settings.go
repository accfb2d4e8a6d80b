package jvm

import (
	"heddle/conf"
	"heddle/conf/javaservices"
)

// Of returns how a JVM is started that is run as s says, with the variables of a configuration. Nothing bounds it yet, and it has neither a folder nor a log.
func Of(c *conf.Config, s javaservices.Settings) Config {
	return Config{
		Java: s.Java, JavaVersion: Version(s.Home), JavaOptions: s.Options, HeapMB: s.HeapMB, ClassPath: s.ClassPath, Env: javaservices.Environment(c),
		Confine: func(int) error { return nil }, Sweep: func() {},
	}
}
