package staging

import (
	"context"

	"heddle/conf"
	"heddle/conf/secure"
	"heddle/hdfsadapter"
	"heddle/yarn/token"
)

// Tokens adds to an application's credentials what its containers need to read and write some files as the user: a delegation token of each HDFS with Kerberos, and of its Key Management Server. The
// ResourceManager renews them.
func Tokens(ctx context.Context, files *hdfsadapter.FS, c *conf.Config, to *token.Credentials, names ...string) error {
	renewer := secure.Renewer(c)
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
		for _, delegate := range []func(ctx context.Context, name, renewer string) (token.Token, bool, error){files.Delegate, files.DelegateKeys} {
			t, ok, err := delegate(ctx, name, renewer)
			if err != nil {
				return err
			}
			if ok {
				to.Tokens = append(to.Tokens, token.NamedToken{Alias: t.Service, Token: t})
			}
		}
	}
	return nil
}
