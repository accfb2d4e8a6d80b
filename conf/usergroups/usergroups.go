// Package usergroups finds the groups of users as hadoop.security.group.mapping says: by the machine, by LDAP, or by several sources (Hadoop: Groups,
// LdapGroupsMapping, CompositeGroupsMapping).
package usergroups

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/yarn/account"
)

const (
	mappingKey   = "hadoop.security.group.mapping"
	providersKey = mappingKey + ".providers"
	overridesKey = "hadoop.user.group.static.mapping.overrides"
	combinedKey  = providersKey + ".combined"
)

// Source finds the groups of a user. Without an error and without groups the user is unknown.
type Source func(ctx context.Context, user string) ([]string, error)

// Directory returns the directory that a configuration names, and how the groups of a user are looked up in it: those that the configuration
// itself has come first. Errors name the key. log may be nil.
func Directory(c *conf.Config, log *logrus.Entry) (*account.Directory, func(user string) ([]string, error), error) {
	if log == nil {
		quiet := logrus.New()
		quiet.SetOutput(io.Discard)
		log = logrus.NewEntry(quiet)
	}
	source, err := sourceOf(c, log, false)
	d := &account.Directory{
		Keep:     c.Duration("hadoop.security.groups.cache.secs"),
		KeepNone: c.Duration("hadoop.security.groups.negative-cache.secs"),
		Patience: account.System.Patience, Now: time.Now, Source: source,
	}
	if limit := c.Duration("hadoop.security.groups.shell.command.timeout"); limit > 0 && source == nil {
		d.Patience = limit
	}
	of, wrong := d.GroupsExcept(c.Text(overridesKey))
	if wrong != nil {
		wrong = conf.ErrorAt(c, overridesKey, wrong)
	}
	return d, of, errors.Join(err, wrong)
}

// The classes of mappings, without their package. Those for netgroups differ from the others in the lists of netgroups alone, which Heddle lacks.
var classes = map[string]func(c *conf.Config, log *logrus.Entry) (Source, error){
	"JniBasedUnixGroupsMapping": machine, "JniBasedUnixGroupsMappingWithFallback": machine, "ShellBasedUnixGroupsMapping": machine,
	"JniBasedUnixGroupsNetgroupMapping": machine, "JniBasedUnixGroupsNetgroupMappingWithFallback": machine, "ShellBasedUnixGroupsNetgroupMapping": machine,
	"LdapGroupsMapping": directory, "RuleBasedLdapGroupsMapping": ruled, "NullGroupsMapping": none,
}

const (
	hadoopPackage = "org.apache.hadoop.security."
	composite     = "CompositeGroupsMapping"
)

func machine(*conf.Config, *logrus.Entry) (Source, error) { return nil, nil }

// none knows no groups: users are in one that is named after them.
func none(*conf.Config, *logrus.Entry) (Source, error) {
	return func(context.Context, string) ([]string, error) { return nil, nil }, nil
}

// sourceOf returns the source that a configuration names; nil is the machine. within says that it is one of several.
func sourceOf(c *conf.Config, log *logrus.Entry, within bool) (Source, error) {
	class := c.Text(mappingKey)
	name := strings.TrimPrefix(class, hadoopPackage)
	if name == composite && !within {
		return several(c, log)
	}
	open := classes[name]
	if open == nil {
		known := append(slices.Sorted(maps.Keys(classes)), composite)
		return nil, conf.ErrorAt(c, mappingKey, fmt.Errorf("there is no class %s in Heddle. It knows %s, all in %s", class, strings.Join(known, ", "), hadoopPackage))
	}
	return open(c, log)
}

// several returns the source that asks several others, in their order: all of them, or until one knows the user.
func several(c *conf.Config, log *logrus.Entry) (Source, error) {
	names := c.Strings(providersKey)
	if len(names) == 0 {
		return nil, conf.ErrorAt(c, mappingKey, fmt.Errorf("%s needs %s, a list of names", composite, providersKey))
	}
	var sources []Source
	for _, name := range names {
		with, err := ofProvider(c, name)
		if err != nil {
			return nil, err
		}
		s, err := sourceOf(with, log, true)
		if err != nil {
			return nil, fmt.Errorf("source %s of groups: %w", name, err)
		}
		if s == nil {
			d := &account.Directory{Patience: account.System.Patience, Now: time.Now} // which remembers nothing
			s = func(_ context.Context, user string) ([]string, error) { return d.Groups(user) }
		}
		sources = append(sources, s)
	}
	return combine(names, sources, c.Bool(combinedKey), log), nil
}

// combine asks sources in their order. A source that fails is passed over, unless none knows the user.
func combine(names []string, sources []Source, all bool, log *logrus.Entry) Source {
	return func(ctx context.Context, user string) ([]string, error) {
		var found []string
		var failed []error
		for i, s := range sources {
			groups, err := s(ctx, user)
			if err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", names[i], err))
			}
			found = append(found, groups...)
			if len(groups) > 0 && !all {
				break
			}
		}
		if len(found) == 0 {
			return nil, errors.Join(failed...)
		}
		for _, err := range failed {
			log.WithError(err).WithField("user", user).Info("a source of groups was passed over")
		}
		return unique(found), nil
	}
}

// unique leaves names out that came before: the first one is a user's primary group.
func unique(names []string) (out []string) {
	for _, name := range names {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// ofProvider returns the configuration of one of several sources: what is set for it alone takes precedence.
func ofProvider(c *conf.Config, name string) (*conf.Config, error) {
	key := mappingKey + ".provider." + name
	class, ok := c.Get(key)
	if !ok {
		return nil, conf.ErrorAt(c, providersKey, fmt.Errorf("set %s to the class of %s", key, name))
	}
	values := map[string]string{mappingKey: class}
	for part, value := range c.WithPrefix(key + ".") {
		values[mappingKey+"."+part] = value
	}
	return c.WithValues(key, values), nil
}
