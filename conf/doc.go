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
// What a key means, its default, kind and range stand in one line of the registry (keys_*.go). The typed getters (Int,
// Duration, Address, …) work for keys of the registry only and panic for others, so that a misspelt key fails in the
// first test; Get reads any key. After Validate found no errors the getters return what was configured; without it, an
// impossible value reads as its default.
//
// Reading follows Hadoop's Configuration class: values of later files replace earlier ones unless those are <final>,
// empty values count as not set, ${name} and ${env.NAME} are replaced when a value is read, deprecated names lead to
// their successors. Two things differ on purpose: variables that lead back to themselves are an error rather than
// text, and defaults lie below all files, so that a yarn.* key in core-site.xml counts (Hadoop's yarn-default.xml would
// hide it).
package conf

// HadoopVersion is the release whose protocols, configuration and REST answers Heddle follows.
const HadoopVersion = "3.4.2"

// Version and Built say what this binary was built from and when; the linker sets them (see the Makefile).
var (
	Version = "unknown"
	Built   = "unknown"
)
