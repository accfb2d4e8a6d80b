package launch

import (
	"path"

	"heddle/internal/userfiles"
	"heddle/yarn/proxyca"
)

// WriteCredentials writes a container's credentials into its work folder, and the keystores in them: an ApplicationMaster's key and
// certificate, if the ResourceManager gives it some (yarn.resourcemanager.application-https.policy).
func WriteCredentials(work *userfiles.Dir, tokens []byte, want userfiles.Want) error {
	for _, s := range proxyca.Stores(tokens) {
		if err := work.Write(s.File, s.Content, want); err != nil {
			return err
		}
	}
	return work.Write(TokensFile, Credentials(tokens), want)
}

// Secrets returns the files in a work folder that are removed first.
func Secrets(work string) (files []string) {
	for _, name := range append(proxyca.Files(), TokensFile, ScriptFile) {
		files = append(files, path.Join(work, name))
	}
	return files
}
