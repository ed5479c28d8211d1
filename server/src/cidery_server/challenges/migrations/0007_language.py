from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("challenges", "0006_files_and_news")]

    operations = [
        migrations.AddField(
            model_name="challenge",
            name="language",
            field=models.CharField(blank=True, default="", max_length=10),
        ),
        migrations.AddField(
            model_name="submission",
            name="warnings",
            field=models.JSONField(blank=True, default=list),
        ),
    ]
