// A page opened from a folder may start no worker, which the search runs in. There it runs in a
// hidden frame. The theme knows such a frame by the name IFrameWorker.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(address) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      this.inside = frame.contentWindow
      this.inside.postMessage = data =>
        setTimeout(() => this.dispatchEvent(new MessageEvent("message", {data})))
      const script = frame.contentDocument.createElement("script")
      this.started = new Promise(resolve => script.addEventListener("load", resolve))
      script.src = new URL(address, location)
      frame.contentDocument.body.append(script)
    }

    postMessage(data) {
      this.started.then(() => this.inside.dispatchEvent(new MessageEvent("message", {data})))
    }
  }
  window.Worker = window.IFrameWorker
}
