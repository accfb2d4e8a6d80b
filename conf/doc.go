// Package conf reads Hadoop's configuration: core-site.xml, hdfs-site.xml, mapred-site.xml and yarn-site.xml of one
// folder, over defaults that are built in.
//
// A program loads a Config once and asks it by key:
//
//	c, err := conf.Load(conf.Options{Dir: dir, Overrides: []string{"yarn.acl.enable=true"}})
//	if err != nil { … }                     // a file can't be read or isn't XML
//	if r := c.Validate(); !r.OK() { … }     // a value is impossible: the report names file, line, key and what is allowed
//	c.Duration("yarn.am.liveness-monitor.expiry-interval-ms")
//
// One line of the registry (keys_*.go) has a key's meaning, default, kind and range. The typed getters (Int, Duration,
// Address, …) work for keys of the registry only and panic for others, so that a misspelt key fails in the first test.
// Get reads any key. If Validate has found no errors, the getters return what was configured. Otherwise an invalid
// value reads as its default.
//
// Reading follows Hadoop's Configuration class. Values of later files replace earlier ones unless those are <final>.
// Empty values count as not set. ${name} and ${env.NAME} are replaced when a value is read. Deprecated names stand for
// their replacements. Two things differ on purpose. A variable that refers to itself is an error rather than text. And
// defaults rank below all files, so that a yarn.* key in core-site.xml counts (Hadoop's yarn-default.xml hides it).
//
// It is large because one Config reads files, expands, checks, reports and dumps them. A good part of it is tables of keys.
package conf

// HadoopVersion is the release whose protocols, configuration and REST answers Heddle follows.
const HadoopVersion = "3.4.2"

// Version and Built say what this binary was built from and when; the linker sets them (see the Makefile).
var (
	Version = "unknown"
	Built   = "unknown"
)
