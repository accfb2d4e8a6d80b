// Package browser opens web pages in Chromium. Its tests check the web UI of a ResourceManager.
package browser
