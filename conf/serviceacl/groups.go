package serviceacl

import (
	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/conf/usergroups"
)

// WithGroups is Read with the groups of users that the configuration names, which it returns as well. log may be nil.
func WithGroups(c *conf.Config, log *logrus.Entry) (*Policy, func(user string) ([]string, error), error) {
	_, groups, err := usergroups.Directory(c, log)
	if err != nil {
		return nil, groups, err
	}
	p, err := Read(c, groups)
	return p, groups, err
}
