package disks

import "path/filepath"

// Names of folders below a local folder.
const (
	usercache  = "usercache"
	appcache   = "appcache"
	filecache  = "filecache"
	nmPrivate  = "nmPrivate"
	TempFolder = "tmp" // in a work folder
)

// FileCache is the cache of public resources.
func FileCache(local string) string { return filepath.Join(local, filecache) }

// Users is the folder of all users' folders.
func Users(local string) string { return filepath.Join(local, usercache) }

// User is a user's folder.
func User(local, user string) string { return filepath.Join(local, usercache, user) }

// UserFileCache is the cache of a user's private resources.
func UserFileCache(local, user string) string { return filepath.Join(User(local, user), filecache) }

// Apps is the folder of the folders of a user's applications.
func Apps(local, user string) string { return filepath.Join(User(local, user), appcache) }

// App is an application's folder, of which its containers' environment says LOCAL_DIRS.
func App(local, user, app string) string { return filepath.Join(Apps(local, user), app) }

// AppFileCache is the cache of an application's resources.
func AppFileCache(local, user, app string) string {
	return filepath.Join(App(local, user, app), filecache)
}

// Work is a container's work folder.
func Work(local, user, app, container string) string {
	return filepath.Join(App(local, user, app), container)
}

// Private is the folder of what only the NodeManager may see.
func Private(local string) string { return filepath.Join(local, nmPrivate) }

// PrivateApp is what only the NodeManager may see of an application.
func PrivateApp(local, app string) string { return filepath.Join(local, nmPrivate, app) }

// PrivateContainer is what only the NodeManager may see of a container.
func PrivateContainer(local, app, container string) string {
	return filepath.Join(PrivateApp(local, app), container)
}

// AppLogs is the folder of the logs of an application's containers.
func AppLogs(logs, app string) string { return filepath.Join(logs, app) }

// ContainerLogs is the folder of a container's logs.
func ContainerLogs(logs, app, container string) string {
	return filepath.Join(AppLogs(logs, app), container)
}
