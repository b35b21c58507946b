"use strict";
// Shows a panel for each camera: its newest image or, in a pause, the image at the selected time.

// Largest size of the stored images of a camera, bytes.
const PICTURE_BYTES = 32e6;

class Pictures {
  constructor(box, panels, view, ask) {
    Object.assign(this, { box, panels, view, ask });
    this.cameras = [];
  }

  // Creates the panels for the cameras of the rig: all devices that can send images.
  set(devices, token) {
    this.cameras = devices.flatMap((device, index) => (device.is_camera ? [{ name: device.name, index, seen: 0, kept: [], bytes: 0 }] : []));
    this.box.hidden = this.cameras.length === 0;
    this.panels.replaceChildren(...this.cameras.map((camera) => {
      const figure = element("figure");
      camera.canvas = element("canvas");
      camera.canvas.setAttribute("role", "img");
      camera.canvas.setAttribute("aria-label", `Image of ${camera.name}`);
      camera.text = element("span", "no image yet");
      const link = element("a", "stream");
      link.href = `/video/${camera.name}${token ? `?token=${token}` : ""}`;
      link.target = "_blank";
      link.title = "MJPEG, for any player";
      const caption = element("figcaption");
      caption.append(element("strong", camera.name), camera.text, link);
      figure.append(camera.canvas, caption);
      return figure;
    }));
  }

  // Requests new images, unless the list of cameras is closed.
  async look() {
    if (!this.box.open) return;
    if (this.view.at !== null) return this.show();
    for (const camera of this.cameras) {
      const answer = await this.ask(`/api/picture?device=${camera.index}&after=${camera.seen}`);
      if (answer.status !== 200) continue;
      const body = await answer.arrayBuffer();
      const head = new DataView(body);
      camera.seen = Number(head.getBigUint64(0, true));
      const picture = { time_s: head.getFloat64(8, true), file: new Blob([body.slice(16)], { type: "image/jpeg" }) };
      camera.kept.push(picture);
      camera.bytes += picture.file.size;
      while (camera.bytes > PICTURE_BYTES || camera.kept[0].time_s < picture.time_s - HISTORY_S)
        camera.bytes -= camera.kept.shift().file.size;
    }
    await this.show();
  }

  // Shows each camera's image at the time that the view shows.
  async show() {
    if (!this.box.open) return;
    for (const camera of this.cameras) {
      const at = this.view.at;
      const picture = at === null ? camera.kept.at(-1) : camera.kept.findLast(({ time_s }) => time_s <= at + 0.05) || camera.kept[0];
      if (!picture || picture === camera.shown) continue;
      camera.shown = picture;
      const bitmap = await createImageBitmap(picture.file);
      const { width, height } = bitmap;
      if (camera.canvas.width !== width || camera.canvas.height !== height) Object.assign(camera.canvas, { width, height });
      camera.canvas.getContext("2d").drawImage(bitmap, 0, 0);
      bitmap.close();
      setText(camera.text, `${width} × ${height}, ${picture.time_s.toFixed(1)} s`);
    }
  }
}
