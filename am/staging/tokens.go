package staging

import (
	"context"
	"strings"

	"heddle/conf"
	"heddle/hdfsadapter"
	"heddle/yarn/token"
)

// Tokens adds to an application's credentials what its containers need to read and write some files as the user: a delegation token of each HDFS with Kerberos. The
// ResourceManager renews them.
func Tokens(ctx context.Context, files *hdfsadapter.FS, c *conf.Config, to *token.Credentials, names ...string) error {
	renewer := managerAccount(c)
	have := map[string]bool{}
	for _, name := range names {
		at, err := files.Locate(name)
		if err != nil {
			return err
		}
		fs := at.Scheme + "://" + at.Authority
		if have[fs] {
			continue
		}
		have[fs] = true
		t, ok, err := files.Delegate(ctx, name, renewer)
		if err != nil {
			return err
		}
		if ok {
			to.Tokens = append(to.Tokens, token.NamedToken{Alias: t.Service, Token: t})
		}
	}
	return nil
}

// managerAccount returns the ResourceManager's full name, as the first of them has it. All have the same short name, by which NameNodes know renewers.
func managerAccount(c *conf.Config) string {
	name := c.Text("yarn.resourcemanager.principal")
	at, err := c.RMAddresses("yarn.resourcemanager.address")
	if err != nil {
		return name
	}
	return strings.Replace(name, "/_HOST@", "/"+strings.ToLower(at[0].Host)+"@", 1)
}
