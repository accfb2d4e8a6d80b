package ssl

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"heddle/conf"
)

// Problems returns what an administrator should know of the TLS of daemons on this machine, as warnings; Web and Shuffle return what keeps them
// from starting. host is the name by which clients know the web port; "": it isn't known.
func Problems(c *conf.Config, host string, now time.Time) (all []conf.Problem) {
	warn := func(c *conf.Config, key, format string, args ...any) {
		all = append(all, conf.AtKey(c, conf.Warning, key, fmt.Errorf(format, args...)))
	}
	if strings.EqualFold(c.Text(policy), "HTTP_AND_HTTPS") {
		warn(c, policy, "web ports speak HTTP alone with it, as YARN's do: set it to HTTPS_ONLY for TLS")
	}
	if !conf.HTTPS(c) {
		return all
	}
	f, err := open(c, webFile, policy)
	if err != nil {
		return all // the start fails with it
	}
	for _, key := range unknown(f.c) {
		warn(f.c, key, "no daemon reads this key of %s", webFile)
	}
	if f.c.Bool(needClient) {
		warn(f.c, needClient, "web clients must show certificates, browsers too; YARN's daemons don't read this key")
	}
	own, err := f.certificates()
	if err != nil {
		return all
	}
	location := server + "keystore.location"
	var others []error
	for _, x := range own {
		switch until := x.Leaf.NotAfter; {
		case now.After(until):
			warn(f.c, location, "the certificate of %q ended at %v: replace it", x.Leaf.Subject, until.Format(time.DateTime))
		case now.Add(soon).After(until):
			warn(f.c, location, "the certificate of %q ends at %v", x.Leaf.Subject, until.Format(time.DateTime))
		}
		if err := isFor(x.Leaf, host); err != nil {
			others = append(others, err)
		}
	}
	if host != "" && len(others) == len(own) {
		warn(f.c, location, "clients that ask for %s won't trust it: %w", host, errors.Join(others...))
	}
	return all
}

// soon is how long before its end a certificate is warned of.
const soon = 14 * 24 * time.Hour

// unknown returns keys for servers that nothing reads, misspelt ones mostly.
func unknown(c *conf.Config) (keys []string) {
	for rest := range c.WithPrefix(server) {
		if _, ok := conf.FindKey(server + rest); !ok {
			keys = append(keys, server+rest)
		}
	}
	slices.Sort(keys)
	return keys
}
