package runc

import (
	"regexp"
	"strings"
)

// maxTags bounds the tags of a file.
const maxTags = 100_000

var digest = regexp.MustCompile(`^[a-f0-9]{64}$`)

// parseTags reads a file of tags as Hadoop's ImageTagToManifestPlugin does: in each line tags between commas, and after the last colon the
// digest of the manifest. What follows a # has no meaning. Lines that are wrong are left out, and counted.
func parseTags(text []byte) (tags map[string]string, wrong int) {
	tags = map[string]string{}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(strings.TrimRight(line, "\r\n"), "#")
		if line == "" {
			continue
		}
		at := strings.LastIndex(line, ":")
		if at < 0 || !digest.MatchString(strings.ToLower(line[at+1:])) {
			wrong++
			continue
		}
		for tag := range strings.SplitSeq(line[:at], ",") {
			if len(tags) < maxTags {
				tags[tag] = strings.ToLower(line[at+1:])
			}
		}
	}
	return tags, wrong
}
